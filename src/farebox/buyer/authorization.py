"""The buyer's signature: one authorization entry for one transfer, and the envelope it rides in."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from stellar_sdk import Account, Address, InvokeHostFunction, TransactionBuilder, scval
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.auth import authorize_entry

from farebox.buyer.offer import printable
from farebox.buyer.wallet import Wallet
from farebox.kernel.addresses import account_address
from farebox.kernel.errors import Refusal
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import LatestLedger, RawSimulation
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
    """The network would not take the payment; the message says why, and nothing was handed out."""

    def __init__(self, message: str) -> None:
        super().__init__("authorization_refused", message)


class Node(Protocol):
    """What signing asks of the network."""

    async def latest_ledger(self) -> LatestLedger:
        """The newest ledger."""
        ...

    async def simulate(self, envelope: str) -> RawSimulation:
        """A dry run that enforces the signature."""
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
    node: Node,
    *,
    form: CredentialForm = CredentialForm.ADDRESS,
) -> Authorization:
    """Sign a transfer of exactly `terms` and nothing else, and see that the network would take it.

    What is signed is built here: no node can add to it. Its life is counted from the newest
    ledger, `maxTimeoutSeconds` in ledgers of five seconds, rounded up.

    Raises:
        AuthorizationRefused: the network would refuse the signed transfer.
        RpcUnavailable: the network cannot be asked.
    """
    latest = await node.latest_ledger()
    expires = latest.sequence + -(-terms.max_timeout_s // LEDGER_S)
    nonce = secrets.randbits(64) - 2**63
    unsigned = unsigned_entry(terms, payer=wallet.address, nonce=nonce, form=form)
    signed = authorize_entry(unsigned, wallet.keypair(), expires, terms.network.passphrase)
    trial = (await node.simulate(_envelope(terms, signed))).result
    _refuse_failure(trial)
    envelope = _envelope(terms, signed, resources=_resources(trial))
    return Authorization(Secret(envelope), nonce, expires)


def unsigned_entry(
    terms: PaymentTerms, *, payer: str, nonce: int, form: CredentialForm
) -> stellar_xdr.SorobanAuthorizationEntry:
    """The payer's consent to the one call `transfer(payer, payTo, amount)`, not yet signed."""
    kinds = stellar_xdr.SorobanCredentialsType
    address = stellar_xdr.SorobanAddressCredentials(
        address=Address(payer).to_xdr_sc_address(),
        nonce=stellar_xdr.Int64(nonce),
        signature_expiration_ledger=stellar_xdr.Uint32(0),
        signature=scval.to_void(),
    )
    if form is CredentialForm.ADDRESS:
        credentials = stellar_xdr.SorobanCredentials(
            kinds.SOROBAN_CREDENTIALS_ADDRESS, address=address
        )
    else:
        credentials = stellar_xdr.SorobanCredentials(
            kinds.SOROBAN_CREDENTIALS_ADDRESS_V2, address_v2=address
        )
    function = stellar_xdr.SorobanAuthorizedFunction(
        stellar_xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN,
        contract_fn=_transfer_call(terms, payer=payer),
    )
    return stellar_xdr.SorobanAuthorizationEntry(
        credentials, stellar_xdr.SorobanAuthorizedInvocation(function, [])
    )


def _transfer_call(terms: PaymentTerms, *, payer: str) -> stellar_xdr.InvokeContractArgs:
    return stellar_xdr.InvokeContractArgs(
        contract_address=Address(terms.asset).to_xdr_sc_address(),
        function_name=stellar_xdr.SCSymbol(b"transfer"),
        args=[
            scval.to_address(payer),
            scval.to_address(terms.pay_to),
            scval.to_int128(terms.amount),
        ],
    )


def _envelope(
    terms: PaymentTerms,
    signed: stellar_xdr.SorobanAuthorizationEntry,
    *,
    resources: stellar_xdr.SorobanTransactionData | None = None,
) -> str:
    """The envelope in base64; its fee is the inclusion fee and the resource fee of `resources`."""
    function = stellar_xdr.HostFunction(
        stellar_xdr.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT,
        invoke_contract=signed.root_invocation.function.contract_fn,
    )
    builder = TransactionBuilder(Account(_NOBODY, 0), terms.network.passphrase, _INCLUSION_FEE)
    builder.append_operation(InvokeHostFunction(function, auth=[signed])).add_time_bounds(0, 0)
    if resources is not None:
        builder.set_soroban_data(resources)
    return builder.build().to_xdr()


def _resources(trial: Mapping[str, object]) -> stellar_xdr.SorobanTransactionData:
    try:
        return stellar_xdr.SorobanTransactionData.from_xdr(str(trial["transactionData"]))
    except Exception as error:
        raise AuthorizationRefused("The network's dry run cannot be read.") from error


def _refuse_failure(trial: Mapping[str, object]) -> None:
    if "restorePreamble" in trial:
        raise AuthorizationRefused("A ledger entry of the payment is archived; restore it first.")
    error = trial.get("error")
    if error is None:
        return
    text = str(error)
    known = next((words for mark, words in _WORDS_OF_FAILURE if mark in text), None)
    said = known or printable(text.partition("\n")[0])
    raise AuthorizationRefused(f"The network would refuse the payment: {said}.")
