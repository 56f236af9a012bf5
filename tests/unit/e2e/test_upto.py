"""The client of docs/upto.md signs what the page says, and a step that fails is named."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

import pytest
from stellar_sdk import Keypair, StrKey, scval, xdr
from stellar_sdk.auth import authorization_payload_hash

from e2e.upto import load_client, write_client
from e2e.upto_captor import Grant, grant_value
from e2e.upto_parties import StepFailed, expect
from farebox.kernel.networks import Network

PAYER: Final = Keypair.from_raw_ed25519_seed(bytes([1]) * 32)
CONTRACT: Final = StrKey.encode_contract(bytes([2]) * 32)
GRANT: Final = Grant(
    asset=StrKey.encode_contract(bytes([3]) * 32),
    captor=Keypair.from_raw_ed25519_seed(bytes([4]) * 32).public_key,
    expiration_ledger=1_000,
    max_amount=500,
    not_after=200,
    not_before=100,
    pay_to=StrKey.encode_contract(bytes([5]) * 32),
    payer=PAYER.public_key,
    nonce="06" * 32,
)


@pytest.fixture(scope="module")
def entry(tmp_path_factory: pytest.TempPathFactory) -> xdr.SorobanAuthorizationEntry:
    """What the page's client signs."""
    client = write_client(tmp_path_factory.mktemp("upto"))
    grant = json.loads(json.dumps(asdict(GRANT)))
    sign = load_client(client)
    return xdr.SorobanAuthorizationEntry.from_xdr(
        sign(CONTRACT, grant, PAYER.secret, Network.TESTNET.passphrase)
    )


def call(invocation: xdr.SorobanAuthorizedInvocation) -> tuple[str, str, list[xdr.SCVal]]:
    """Contract, function and arguments of an authorized call."""
    called = invocation.function.contract_fn
    assert called is not None
    contract = called.contract_address.contract_id
    assert contract is not None
    name = called.function_name.sc_symbol.decode()
    return StrKey.encode_contract(contract.contract_id.hash), name, list(called.args)


def test_client_of_the_page_signs_the_grant_and_both_approvals_alone(
    entry: xdr.SorobanAuthorizationEntry,
) -> None:
    root = entry.root_invocation
    assert call(root) == (CONTRACT, "capture", [grant_value(GRANT)])
    parties = [scval.to_address(GRANT.payer), scval.to_address(CONTRACT)]
    most = [*parties, scval.to_int128(500), scval.to_uint32(1_000)]
    none = [*parties, scval.to_int128(0), scval.to_uint32(0)]
    nested = root.sub_invocations
    assert [call(each) for each in nested] == [
        (GRANT.asset, "approve", most),
        (GRANT.asset, "approve", none),
    ]
    assert [each.sub_invocations for each in nested] == [[], []]


def test_client_of_the_page_signs_with_the_payers_key_to_the_grants_last_ledger(
    entry: xdr.SorobanAuthorizationEntry,
) -> None:
    credentials = entry.credentials.address
    assert credentials is not None
    assert credentials.signature_expiration_ledger.uint32 == GRANT.expiration_ledger
    preimage = xdr.HashIDPreimage(
        xdr.EnvelopeType.ENVELOPE_TYPE_SOROBAN_AUTHORIZATION,
        soroban_authorization=xdr.HashIDPreimageSorobanAuthorization(
            xdr.Hash(Network.TESTNET.id),
            credentials.nonce,
            credentials.signature_expiration_ledger,
            entry.root_invocation,
        ),
    )
    (signed,) = scval.from_vec(credentials.signature)
    fields = scval.from_map(signed)
    signature = scval.from_bytes(fields[scval.to_symbol("signature")])
    PAYER.verify(authorization_payload_hash(preimage), signature)


def test_folder_gets_the_client_that_the_page_shows(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "upto.md"
    assert write_client(tmp_path).read_text() in page.read_text()


def test_step_with_another_value_than_it_must_have_fails_and_names_it() -> None:
    expect("status", ["Open"], ["Open"])
    with pytest.raises(StepFailed, match=r"status: found \['Open'\], expected \['Voided'\]"):
        expect("status", ["Open"], ["Voided"])
