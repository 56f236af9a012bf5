"""The buyer's signature: one authorization entry for one transfer, and the envelope it rides in."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from stellar_sdk import Account, InvokeHostFunction, TransactionBuilder, scval
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.auth import authorize_entry
from stellar_sdk.exceptions import SdkError

from farebox.buyer.offer import printable
from farebox.buyer.wallet import Wallet
from farebox.kernel.addresses import account_address
from farebox.kernel.errors import Refusal
from farebox.kernel.secret import Secret
from farebox.x402.payment import PaymentTerms

LEDGER_S: Final = 5  # buyers and facilitators count maxTimeoutSeconds in ledgers of this length
_NOBODY: Final = account_address(bytes(32))  # no source of ours: the sponsor puts its own there
_INCLUSION_FEE: Final = 100  # stroops; a facilitator sets its own
_WORDS_OF_FAILURE: Final = (
    ("Error(Contract, #10)", "the payer holds too little of the token"),
    ("Error(Contract, #13)", "the payer or the seller has no trustline for the token"),
    ("Error(Contract, #11)", "the payer or the seller may not hold the token"),
    ("Error(Contract, #6)", "the payer's or the seller's account does not exist"),
    ("Error(Storage, MissingValue)", "the token or an account does not exist on this network"),
)


class CredentialForm(StrEnum):
    """How the entry names the payer; every facilitator reads ADDRESS, newer ones V2 as well."""

    ADDRESS = "address"
    ADDRESS_V2 = "address-v2"


class AuthorizationRefused(Refusal):
    """No authorization was signed that could be used; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__("authorization_refused", message)


class Simulator(Protocol):
    """The network's dry run, for an envelope in base64."""

    async def simulate(self, envelope_base64: str) -> Mapping[str, object]:
        """The `result` member of a simulateTransaction answer."""
        ...


@dataclass(frozen=True, slots=True)
class Authorization:
    """A signed transfer, good once and until `expires_at_ledger`."""

    envelope: Secret[str]
    nonce: int
    expires_at_ledger: int


async def authorize(
    terms: PaymentTerms,
    wallet: Wallet,
    network: Simulator,
    *,
    form: CredentialForm = CredentialForm.ADDRESS,
) -> Authorization:
    """Sign a transfer of exactly `terms` and nothing else.

    The network is asked twice: what must be signed, and whether what was signed would go through.

    Raises:
        AuthorizationRefused: the network would refuse it, or asks for anything but this transfer.
    """
    call = transfer_call(terms, payer=wallet.address)
    recorded = await network.simulate(_envelope(call, terms, None, None))
    entry = _only_entry(recorded, call, wallet)
    expires = _latest_ledger(recorded) + -(-terms.max_timeout_s // LEDGER_S)
    signed = sign_entry(entry, wallet, terms, expires_at_ledger=expires, form=form)
    enforced = await network.simulate(_envelope(call, terms, signed, None))
    _refuse_failure(enforced)
    nonce = _credentials(signed).nonce.int64
    envelope = _envelope(call, terms, signed, enforced)
    return Authorization(Secret(envelope), nonce, expires)


def transfer_call(terms: PaymentTerms, *, payer: str) -> stellar_xdr.InvokeContractArgs:
    """The contract call `transfer(payer, payTo, amount)` on the asset."""
    return stellar_xdr.InvokeContractArgs(
        contract_address=scval.to_address(terms.asset).address,  # type: ignore[arg-type]  # set
        function_name=stellar_xdr.SCSymbol(b"transfer"),
        args=[
            scval.to_address(payer),
            scval.to_address(terms.pay_to),
            scval.to_int128(terms.amount),
        ],
    )


def sign_entry(
    entry: stellar_xdr.SorobanAuthorizationEntry,
    wallet: Wallet,
    terms: PaymentTerms,
    *,
    expires_at_ledger: int,
    form: CredentialForm,
) -> stellar_xdr.SorobanAuthorizationEntry:
    """The entry in the form asked for, signed with the wallet's key."""
    kinds = stellar_xdr.SorobanCredentialsType
    address = _credentials(entry)
    if form is CredentialForm.ADDRESS:
        credentials = stellar_xdr.SorobanCredentials(
            kinds.SOROBAN_CREDENTIALS_ADDRESS, address=address
        )
    else:
        credentials = stellar_xdr.SorobanCredentials(
            kinds.SOROBAN_CREDENTIALS_ADDRESS_V2, address_v2=address
        )
    unsigned = stellar_xdr.SorobanAuthorizationEntry(credentials, entry.root_invocation)
    return authorize_entry(unsigned, wallet.keypair(), expires_at_ledger, terms.network.passphrase)


def _envelope(
    call: stellar_xdr.InvokeContractArgs,
    terms: PaymentTerms,
    signed: stellar_xdr.SorobanAuthorizationEntry | None,
    simulated: Mapping[str, object] | None,
) -> str:
    function = stellar_xdr.HostFunction(
        stellar_xdr.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT, invoke_contract=call
    )
    operation = InvokeHostFunction(function, auth=[signed] if signed is not None else [])
    fee = _INCLUSION_FEE
    builder = TransactionBuilder(Account(_NOBODY, 0), terms.network.passphrase, fee)
    builder.append_operation(operation).add_time_bounds(0, 0)
    if simulated is not None:
        data, resource_fee = _resources(simulated)
        builder.set_soroban_data(data)
        builder.base_fee = fee + resource_fee
    return builder.build().to_xdr()


def _resources(simulated: Mapping[str, object]) -> tuple[stellar_xdr.SorobanTransactionData, int]:
    try:
        data = stellar_xdr.SorobanTransactionData.from_xdr(str(simulated["transactionData"]))
        return data, int(str(simulated["minResourceFee"]))
    except (KeyError, ValueError, SdkError) as error:
        raise AuthorizationRefused("The network's simulation cannot be read.") from error


def _only_entry(
    simulated: Mapping[str, object], call: stellar_xdr.InvokeContractArgs, wallet: Wallet
) -> stellar_xdr.SorobanAuthorizationEntry:
    """The one entry to sign; anything beyond this transfer by this payer is never signed."""
    _refuse_failure(simulated)
    try:
        results = simulated["results"]
        (asked,) = results[0]["auth"]  # type: ignore[index]  # a wrong shape is refused below
        entry = stellar_xdr.SorobanAuthorizationEntry.from_xdr(asked)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise AuthorizationRefused(
            "The network does not ask for exactly one authorization of this transfer."
        ) from error
    root = entry.root_invocation
    if (
        root.function.contract_fn != call
        or root.sub_invocations
        or _credentials(entry).address != scval.to_address(wallet.address).address
    ):
        raise AuthorizationRefused(
            "The token asks for more than this transfer by this payer; nothing was signed."
        )
    return entry


def _credentials(
    entry: stellar_xdr.SorobanAuthorizationEntry,
) -> stellar_xdr.SorobanAddressCredentials:
    credentials = entry.credentials.address or entry.credentials.address_v2
    if credentials is None:
        raise AuthorizationRefused(
            "The network asks for another kind of signature than the payer's."
        )
    return credentials


def _latest_ledger(simulated: Mapping[str, object]) -> int:
    latest = simulated.get("latestLedger")
    if type(latest) is not int or latest <= 0:
        raise AuthorizationRefused("The network does not say which ledger is the latest.")
    return latest


def _refuse_failure(simulated: Mapping[str, object]) -> None:
    if "restorePreamble" in simulated:
        raise AuthorizationRefused("A ledger entry of the payment is archived; restore it first.")
    error = simulated.get("error")
    if error is None:
        return
    text = str(error)
    known = next((words for mark, words in _WORDS_OF_FAILURE if mark in text), None)
    said = known or printable(text.partition("\n")[0])
    raise AuthorizationRefused(f"The network would refuse the payment: {said}.")
