"""The signature, with the Stellar SDK's own reading of the protocol as the judge."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from stellar_sdk import Address, Keypair, TransactionEnvelope, scval, xdr
from stellar_sdk.auth import authorization_payload_hash, build_authorization_preimage
from stellar_sdk.operation import InvokeHostFunction

from farebox.buyer.authorization import (
    AuthorizationRefused,
    CredentialForm,
    authorize,
    transfer_call,
)
from farebox.buyer.tokens import USDC
from farebox.buyer.wallet import wallet_of
from farebox.kernel.addresses import Address as PlainAddress
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.x402.payment import PaymentTerms
from support.offers import SELLER

WALLET = wallet_of(Secret(Keypair.random().secret))
TERMS = PaymentTerms(
    network=Network.TESTNET,
    asset=USDC[Network.TESTNET].contract,
    amount=BaseUnits(500_000),
    pay_to=PlainAddress(SELLER),
    max_timeout_s=61,
)
NONCE = -8_123_456_789
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


def recorded_entry(
    *,
    call: xdr.InvokeContractArgs | None = None,
    address: str = WALLET.address,
    inner: list[xdr.SorobanAuthorizedInvocation] | None = None,
) -> xdr.SorobanAuthorizationEntry:
    function = xdr.SorobanAuthorizedFunction(
        xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN,
        contract_fn=call or transfer_call(TERMS, payer=WALLET.address),
    )
    credentials = xdr.SorobanAddressCredentials(
        address=Address(address).to_xdr_sc_address(),
        nonce=xdr.Int64(NONCE),
        signature_expiration_ledger=xdr.Uint32(0),
        signature=scval.to_void(),
    )
    return xdr.SorobanAuthorizationEntry(
        xdr.SorobanCredentials(
            xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_ADDRESS, address=credentials
        ),
        xdr.SorobanAuthorizedInvocation(function, inner or []),
    )


@dataclass
class RecordedSimulation:
    result: Mapping[str, object]


@dataclass
class RecordingSimulator:
    """Answers the dry run that records, then the one that enforces."""

    entries: list[xdr.SorobanAuthorizationEntry] = field(default_factory=lambda: [recorded_entry()])
    changes: dict[str, object] = field(default_factory=dict)
    enforced: dict[str, object] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    async def simulate(self, envelope: str, /) -> RecordedSimulation:
        self.seen.append(envelope)
        answer: dict[str, object] = {
            "latestLedger": 1000,
            "minResourceFee": "33611",
            "transactionData": RESOURCES,
        }
        if len(self.seen) > 1:
            return RecordedSimulation(answer | self.enforced)
        answer["results"] = [{"auth": [entry.to_xdr() for entry in self.entries], "xdr": ""}]
        return RecordedSimulation(answer | self.changes)


def signed_operation(envelope: str, network: Network = Network.TESTNET) -> InvokeHostFunction:
    transaction = TransactionEnvelope.from_xdr(envelope, network.passphrase).transaction
    (operation,) = transaction.operations
    assert isinstance(operation, InvokeHostFunction)
    return operation


@pytest.mark.parametrize("form", list(CredentialForm))
async def test_the_payers_entry_is_signed_as_the_network_will_check_it(
    form: CredentialForm,
) -> None:
    network = RecordingSimulator()
    authorization = await authorize(TERMS, WALLET, network, form=form)
    operation = signed_operation(authorization.envelope.reveal())
    assert operation.host_function.invoke_contract == transfer_call(TERMS, payer=WALLET.address)
    (entry,) = operation.auth
    is_v2 = form is CredentialForm.ADDRESS_V2
    credentials = entry.credentials.address_v2 if is_v2 else entry.credentials.address
    assert credentials is not None
    assert credentials.nonce.int64 == authorization.nonce == NONCE
    assert credentials.signature_expiration_ledger.uint32 == authorization.expires_at_ledger
    preimage = build_authorization_preimage(
        entry, authorization.expires_at_ledger, Network.TESTNET.passphrase
    )
    (pair,) = scval.from_vec(credentials.signature)
    fields = {scval.from_symbol(key): scval.from_bytes(value) for key, value in pair_of(pair)}
    assert fields["public_key"] == WALLET.keypair().raw_public_key()
    WALLET.keypair().verify(authorization_payload_hash(preimage), fields["signature"])


def pair_of(value: xdr.SCVal) -> list[tuple[xdr.SCVal, xdr.SCVal]]:
    return list(scval.from_map(value).items())


async def test_it_lives_as_many_five_second_ledgers_as_the_seller_allows_rounded_up() -> None:
    authorization = await authorize(TERMS, WALLET, RecordingSimulator())
    assert authorization.expires_at_ledger == 1000 + 13


async def test_the_envelope_is_from_nobody_unsigned_and_carries_what_the_second_run_measured() -> (
    None
):
    network = RecordingSimulator()
    authorization = await authorize(TERMS, WALLET, network)
    envelope = TransactionEnvelope.from_xdr(
        authorization.envelope.reveal(), Network.TESTNET.passphrase
    )
    assert envelope.signatures == []
    assert envelope.transaction.source.account_id == "G" + "A" * 52 + "WHF"
    assert envelope.transaction.fee == 100 + 33_611
    assert envelope.transaction.soroban_data is not None
    recording, enforcing = (signed_operation(seen) for seen in network.seen)
    assert recording.auth == []
    assert enforcing.auth == signed_operation(authorization.envelope.reveal()).auth


async def test_the_signature_shows_in_no_text_form() -> None:
    authorization = await authorize(TERMS, WALLET, RecordingSimulator())
    assert authorization.envelope.reveal() not in repr(authorization)


OTHER_CALL = transfer_call(
    PaymentTerms(TERMS.network, TERMS.asset, BaseUnits(500_001), TERMS.pay_to, 60),
    payer=WALLET.address,
)


@pytest.mark.parametrize(
    "entries",
    [
        [recorded_entry(call=OTHER_CALL)],
        [recorded_entry(inner=[recorded_entry().root_invocation])],
        [recorded_entry(address=Keypair.random().public_key)],
        [],
        [recorded_entry(), recorded_entry()],
    ],
    ids=["another-amount", "more-calls", "somebody-else", "nothing", "twice"],
)
async def test_anything_but_this_transfer_by_this_payer_is_never_signed(
    entries: list[xdr.SorobanAuthorizationEntry],
) -> None:
    network = RecordingSimulator(entries=entries)
    with pytest.raises(AuthorizationRefused):
        await authorize(TERMS, WALLET, network)
    assert len(network.seen) == 1


async def test_a_signature_of_the_source_account_is_not_given() -> None:
    entry = recorded_entry()
    entry.credentials = xdr.SorobanCredentials(
        xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT
    )
    with pytest.raises(AuthorizationRefused, match="another kind of signature"):
        await authorize(TERMS, WALLET, RecordingSimulator(entries=[entry]))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"error": "HostError: Error(Contract, #10)\nEvent log"}, "too little of the token"),
        ({"error": "HostError: Error(Contract, #13)"}, "no trustline"),
        ({"error": "HostError: Error(Wasm, #1)\nlong\nlog"}, r"Error\(Wasm, #1\)\.$"),
        ({"restorePreamble": {}}, "archived"),
        ({"latestLedger": "1000"}, "which ledger"),
        ({"results": "none"}, "exactly one authorization"),
        ({"results": [{"auth": ["AAAA"]}]}, "exactly one authorization"),
    ],
)
async def test_a_dry_run_that_fails_is_one_sentence(changes: dict[str, object], words: str) -> None:
    with pytest.raises(AuthorizationRefused, match=words):
        await authorize(TERMS, WALLET, RecordingSimulator(changes=changes))


@pytest.mark.parametrize(
    ("enforced", "words"),
    [
        ({"error": "HostError: Error(Auth, InvalidAction)"}, "Auth, InvalidAction"),
        ({"transactionData": "AAAA"}, "cannot be read"),
        ({"minResourceFee": None}, "cannot be read"),
    ],
)
async def test_what_was_signed_must_pass_the_second_dry_run(
    enforced: dict[str, object], words: str
) -> None:
    with pytest.raises(AuthorizationRefused, match=words):
        await authorize(TERMS, WALLET, RecordingSimulator(enforced=enforced))
