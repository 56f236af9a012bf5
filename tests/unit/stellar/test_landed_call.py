"""A landed call of another sender: its source, authorization entries and hashes."""

import pytest
from stellar_sdk import FeeBumpTransactionEnvelope, Keypair, StrKey, TransactionEnvelope, xdr

from farebox.kernel.networks import Network
from farebox.stellar.transfer_envelope import LandedCall, read_landed_call
from support.envelopes import call_operation, fee_bumped, sealed, transaction
from support.payments import Draft
from testing.contract_calls import address, address_value, invoke

NET = Network.TESTNET
PAYER, SENDER, BUMPER = Keypair.random(), Keypair.random(), Keypair.random()
ASSET = StrKey.encode_contract(bytes([7]) * 32)
DRAFT = Draft(
    network=NET,
    asset=ASSET,
    payer=PAYER.public_key,
    signers=(PAYER,),
    pay_to=Keypair.random().public_key,
    expires_at_ledger=900,
)


def landed(*, call: xdr.InvokeContractArgs | None = None) -> xdr.TransactionEnvelope:
    """Build another sender's transaction around the payer's entry."""
    operation = call_operation(call or DRAFT.call(), (DRAFT.entry(),))
    conditions = xdr.Preconditions(
        xdr.PreconditionType.PRECOND_TIME,
        xdr.TimeBounds(xdr.TimePoint(xdr.Uint64(0)), xdr.TimePoint(xdr.Uint64(1_800_000_000))),
    )
    tx = transaction([operation], source=SENDER.public_key, sequence=77, conditions=conditions)
    return sealed(tx)


def read(envelope: xdr.TransactionEnvelope) -> LandedCall:
    call = read_landed_call(envelope.to_xdr_bytes())
    assert call is not None
    return call


def test_landed_call_of_a_plain_transaction_has_its_hash() -> None:
    envelope = landed()
    call = read(envelope)
    assert (call.source, call.fee_source) == (SENDER.public_key, SENDER.public_key)
    assert (call.sequence, call.max_time) == (77, 1_800_000_000)
    assert [(each.address, each.nonce) for each in call.entries] == [
        (PAYER.public_key, DRAFT.nonce)
    ]
    known = TransactionEnvelope.from_xdr(envelope.to_xdr(), NET.passphrase)
    assert call.hash(NET.id) == known.hash()
    assert call.inner_hash(NET.id) is None


def test_landed_call_of_a_fee_bump_has_both_hashes() -> None:
    envelope = fee_bumped(landed(), BUMPER.public_key)
    call = read(envelope)
    assert (call.source, call.fee_source) == (SENDER.public_key, BUMPER.public_key)
    known = FeeBumpTransactionEnvelope.from_xdr(envelope.to_xdr(), NET.passphrase)
    assert call.hash(NET.id) == known.hash()
    assert call.inner_hash(NET.id) == read(landed()).hash(NET.id)


def test_landed_call_has_the_entry_under_another_contracts_call() -> None:
    router = invoke(address(StrKey.encode_contract(bytes([9]) * 32)), "swap", address_value(ASSET))
    assert read(landed(call=router)).entries[0].nonce == DRAFT.nonce


@pytest.mark.parametrize("raw", [b"", b"\0\0\0\2", b"\0\0\0\5", bytes(200), b"\xff" * 64])
def test_other_bytes_are_no_landed_call(raw: bytes) -> None:
    assert read_landed_call(raw) is None


def test_truncated_or_extended_envelope_is_no_landed_call() -> None:
    raw = fee_bumped(landed(), BUMPER.public_key).to_xdr_bytes()
    assert read_landed_call(raw) is not None
    assert all(read_landed_call(raw[:end]) is None for end in range(0, len(raw), 4))
    assert read_landed_call(raw + bytes(4)) is None
    assert read_landed_call(raw + bytes(200_000)) is None
