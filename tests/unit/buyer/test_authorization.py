"""The buyer's authorization, checked against the Stellar SDK's reading of the protocol."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from stellar_sdk import Address, Keypair, TransactionEnvelope, scval, xdr
from stellar_sdk.auth import authorization_payload_hash, build_authorization_preimage
from stellar_sdk.operation import InvokeHostFunction

from farebox.buyer.authorization import AuthorizationRefused, CredentialForm, authorize
from farebox.buyer.wallet import wallet_of
from farebox.kernel.addresses import Address as PlainAddress
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.known_tokens import USDC
from farebox.stellar.rpc import LatestLedger, RawSimulation
from farebox.x402.payment import PaymentTerms
from support.fake_rpc import FakeRpc
from support.offers import SELLER

WALLET = wallet_of(Secret(Keypair.random().secret))
TERMS = PaymentTerms(
    network=Network.TESTNET,
    asset=USDC[Network.TESTNET].contract,
    amount=BaseUnits(500_000),
    pay_to=PlainAddress(SELLER),
    max_timeout_s=61,
)
RESOURCES = xdr.SorobanTransactionData(
    ext=xdr.SorobanTransactionDataExt(0),
    resources=xdr.SorobanResources(
        footprint=xdr.LedgerFootprint([], []),
        instructions=xdr.Uint32(676_740),
        disk_read_bytes=xdr.Uint32(376),
        write_bytes=xdr.Uint32(308),
    ),
    resource_fee=xdr.Int64(33_611),
).to_xdr()


@dataclass
class RecordingNode(FakeRpc):
    """A node that answers every simulation the same way."""

    changes: dict[str, object] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    async def latest_ledger(self) -> LatestLedger:
        return LatestLedger(1000, datetime(2026, 11, 21, tzinfo=UTC))

    async def simulate(self, envelope: str) -> RawSimulation:
        self.seen.append(envelope)
        return RawSimulation({"transactionData": RESOURCES} | self.changes)


def operation_of(envelope: str) -> InvokeHostFunction:
    transaction = TransactionEnvelope.from_xdr(envelope, Network.TESTNET.passphrase).transaction
    (operation,) = transaction.operations
    assert isinstance(operation, InvokeHostFunction)
    return operation


def signature_of(credentials: xdr.SorobanAddressCredentials) -> dict[str, bytes]:
    (pair,) = scval.from_vec(credentials.signature)
    fields = scval.from_map(pair)
    return {scval.from_symbol(key): scval.from_bytes(value) for key, value in fields.items()}


@pytest.mark.parametrize("form", list(CredentialForm))
async def test_authorize_signs_the_payers_entry_as_the_network_checks_it(
    form: CredentialForm,
) -> None:
    authorization = await authorize(TERMS, WALLET, RecordingNode(), form=form)
    (entry,) = operation_of(authorization.envelope.reveal()).auth
    is_v2 = form is CredentialForm.ADDRESS_V2
    credentials = entry.credentials.address_v2 if is_v2 else entry.credentials.address
    assert credentials is not None
    assert credentials.address == Address(WALLET.address).to_xdr_sc_address()
    assert credentials.nonce.int64 == authorization.nonce
    assert credentials.signature_expiration_ledger.uint32 == authorization.expires_at_ledger
    preimage = build_authorization_preimage(
        entry, authorization.expires_at_ledger, Network.TESTNET.passphrase
    )
    signature = signature_of(credentials)
    assert signature["public_key"] == WALLET.keypair().raw_public_key()
    WALLET.keypair().verify(authorization_payload_hash(preimage), signature["signature"])


async def test_authorization_covers_exactly_the_transfer_called() -> None:
    authorization = await authorize(TERMS, WALLET, RecordingNode())
    operation = operation_of(authorization.envelope.reveal())
    call = operation.host_function.invoke_contract
    assert call is not None
    assert Address.from_xdr_sc_address(call.contract_address).address == TERMS.asset
    assert call.function_name.sc_symbol == b"transfer"
    payer, pay_to, amount = call.args
    assert scval.from_address(payer).address == WALLET.address
    assert scval.from_address(pay_to).address == TERMS.pay_to
    assert scval.from_int128(amount) == TERMS.amount
    (entry,) = operation.auth
    assert entry.root_invocation.function.contract_fn == call
    assert entry.root_invocation.sub_invocations == []


async def test_authorization_expires_after_the_sellers_timeout_in_ledgers_rounded_up() -> None:
    authorization = await authorize(TERMS, WALLET, RecordingNode())
    assert authorization.expires_at_ledger == 1000 + 13


async def test_authorizations_have_different_nonces() -> None:
    nonces = {(await authorize(TERMS, WALLET, RecordingNode())).nonce for _ in range(20)}
    assert len(nonces) == 20
    assert all(-(2**63) <= nonce < 2**63 for nonce in nonces)


async def test_envelope_has_the_zero_source_and_the_simulated_resources() -> None:
    node = RecordingNode()
    authorization = await authorize(TERMS, WALLET, node)
    text = authorization.envelope.reveal()
    envelope = TransactionEnvelope.from_xdr(text, Network.TESTNET.passphrase)
    assert envelope.signatures == []
    assert envelope.transaction.source.account_id == "G" + "A" * 52 + "WHF"
    assert envelope.transaction.fee == 100 + 33_611
    assert envelope.transaction.soroban_data is not None
    assert envelope.transaction.soroban_data.to_xdr() == RESOURCES
    (tried,) = node.seen
    assert operation_of(tried).auth == operation_of(text).auth


async def test_repr_of_an_authorization_hides_its_envelope() -> None:
    authorization = await authorize(TERMS, WALLET, RecordingNode())
    assert authorization.envelope.reveal() not in repr(authorization)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"error": "HostError: Error(Contract, #10)\nEvent log"}, "too little of the token"),
        ({"error": "HostError: Error(Contract, #13)"}, "no trustline"),
        ({"error": "HostError: Error(Wasm, #1)\nlong\nlog"}, r"Error\(Wasm, #1\)\.$"),
        ({"restorePreamble": {}}, "archived"),
        ({"transactionData": "AAAA"}, "cannot be read"),
        ({"transactionData": None}, "cannot be read"),
    ],
)
async def test_authorize_raises_when_the_simulation_refuses_the_payment(
    changes: dict[str, object], words: str
) -> None:
    with pytest.raises(AuthorizationRefused, match=words):
        await authorize(TERMS, WALLET, RecordingNode(changes=changes))
