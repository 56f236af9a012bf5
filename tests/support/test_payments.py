"""The builders build what they say, by the public SDK's own reading."""

import base64
import hashlib

import pytest
from stellar_sdk import Keypair, TransactionEnvelope, xdr
from stellar_sdk.auth import build_authorization_preimage

from farebox.kernel.networks import Network
from support.envelopes import call_operation, fee_bumped, sealed, spliced, transaction, version_0
from support.payments import Draft, encoded
from testing.contract_calls import ZERO_ACCOUNT, invocation, nested_vector, transfer
from testing.entries import Credentials

ASSET = "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"


def _draft(*, signers: int = 1, kind: Credentials = Credentials.ADDRESS) -> Draft:
    keys = tuple(Keypair.random() for _ in range(signers))
    return Draft(
        network=Network.TESTNET,
        asset=ASSET,
        payer=keys[0].public_key,
        signers=keys,
        pay_to=Keypair.random().public_key,
        expires_at_ledger=1_000,
        kind=kind,
    )


def _owned(entry: xdr.SorobanAuthorizationEntry) -> xdr.SorobanAddressCredentials:
    owned = entry.credentials.address or entry.credentials.address_v2
    assert owned is not None
    return owned


@pytest.mark.parametrize("kind", [Credentials.ADDRESS, Credentials.ADDRESS_V2])
def test_entry_signatures_verify_over_sdk_preimage(kind: Credentials) -> None:
    draft = _draft(signers=3, kind=kind)
    entry = draft.entry()
    preimage = build_authorization_preimage(
        entry, draft.expires_at_ledger, draft.network.passphrase
    )
    digest = hashlib.sha256(preimage.to_xdr_bytes()).digest()
    vector = _owned(entry).signature.vec
    assert vector is not None
    keys = []
    for pair in vector.sc_vec:
        assert pair.map is not None
        fields = [item.val.bytes for item in pair.map.sc_map]
        assert fields[0] is not None
        assert fields[1] is not None
        Keypair.from_raw_ed25519_public_key(fields[0].sc_bytes).verify(digest, fields[1].sc_bytes)
        keys.append(fields[0].sc_bytes)
    assert keys == sorted(key.raw_public_key() for key in draft.signers)


def test_signatures_stay_unsorted_on_request() -> None:
    draft = _draft(signers=2)
    backwards = sorted(draft.signers, key=lambda key: key.raw_public_key(), reverse=True)
    unsorted = draft.but(signers=tuple(backwards), nonce=draft.nonce)
    one, other = unsorted.entry(is_sorted=False), draft.entry()
    assert one.to_xdr_bytes() != other.to_xdr_bytes()
    assert unsorted.entry().to_xdr_bytes() == other.to_xdr_bytes()


def test_envelope_equals_that_of_official_client() -> None:
    draft = _draft()
    read = TransactionEnvelope.from_xdr(encoded(draft.envelope()), draft.network.passphrase)
    assert read.transaction.source.account_id == ZERO_ACCOUNT
    assert (read.transaction.sequence, len(read.signatures)) == (0, 0)
    (operation,) = read.to_xdr_object().v1.tx.operations  # type: ignore[union-attr]  # checked
    function = operation.body.invoke_host_function_op
    assert function is not None
    assert len(function.auth) == 1
    assert function.host_function.invoke_contract == transfer(
        draft.asset, draft.payer, draft.pay_to, draft.amount
    )


def test_other_envelopes_have_their_own_type() -> None:
    envelope = _draft().envelope()
    assert envelope.v1 is not None
    for other in (fee_bumped(envelope, ZERO_ACCOUNT), version_0(envelope.v1.tx)):
        again = xdr.TransactionEnvelope.from_xdr_bytes(other.to_xdr_bytes())
        assert again == other
        assert again.type != envelope.type


def test_nested_vector_has_given_depth() -> None:
    value, depth = xdr.SCVal.from_xdr_bytes(nested_vector(40)), 1
    while value.vec is not None and value.vec.sc_vec:
        value, depth = value.vec.sc_vec[0], depth + 1
    assert depth == 40


def test_splice_replaces_one_range_and_refuses_ambiguity() -> None:
    assert spliced(b"abc", b"b", b"xx") == b"axxc"
    for raw in (b"ac", b"bb"):
        with pytest.raises(ValueError, match="times"):
            spliced(raw, b"b", b"x")


def test_changed_draft_has_new_nonce_and_request_carries_its_terms() -> None:
    draft = _draft()
    changed = draft.but(amount=7)
    assert changed.nonce != draft.nonce
    body = changed.request(payTo="somebody")
    assert body["paymentRequirements"] == changed.terms(payTo="somebody")
    assert body["paymentPayload"]["accepted"] == body["paymentRequirements"]
    raw = base64.b64decode(body["paymentPayload"]["payload"]["transaction"])
    assert xdr.TransactionEnvelope.from_xdr_bytes(raw).v1 is not None


def test_draft_carries_sub_invocations_and_operations() -> None:
    draft = _draft()
    root = invocation(draft.call(), invocation(draft.call()))
    tx = transaction([call_operation(draft.call(), [draft.entry(root)]), draft.operation()])
    again = xdr.TransactionEnvelope.from_xdr_bytes(sealed(tx).to_xdr_bytes())
    assert again.v1 is not None
    first, _ = again.v1.tx.operations
    assert first.body.invoke_host_function_op is not None
    (entry,) = first.body.invoke_host_function_op.auth
    assert len(entry.root_invocation.sub_invocations) == 1
