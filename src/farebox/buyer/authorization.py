"""The buyer's authorization: a signed entry for one transfer, in its envelope."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from stellar_sdk import Account, Address, InvokeHostFunction, TransactionBuilder, scval
from stellar_sdk import xdr as stellar_xdr
from stellar_sdk.auth import authorize_entry

from farebox.buyer.offer import printable
from farebox.buyer.wallet import Wallet
from farebox.kernel.addresses import ZERO_ACCOUNT
from farebox.kernel.errors import CommandRefused
from farebox.kernel.secret import Secret
from farebox.stellar.entry_writer import draw_nonce
from farebox.stellar.ledger_clock import SLOWEST_CADENCE_S, ledgers_for
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.x402.payment import PaymentTerms

_INCLUSION_FEE: Final = 100  # stroops; a facilitator sets its own
_FAILURES: Final = (
    ("Error(Contract, #10)", "the payer holds too little of the token"),
    ("Error(Contract, #13)", "the payer or the seller has no trustline for the token"),
    ("Error(Contract, #11)", "the payer or the seller may not hold the token"),
    ("Error(Contract, #6)", "the payer's or the seller's account does not exist"),
    ("Error(Storage, MissingValue)", "the token or an account does not exist on this network"),
)


class CredentialForm(StrEnum):
    """The form of the entry's credentials; newer facilitators alone read ADDRESS_V2."""

    ADDRESS = "address"
    ADDRESS_V2 = "address-v2"


class AuthorizationRefused(CommandRefused):
    """The network would refuse the payment; the signature was not disclosed."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Authorization:
    """A signed transfer, valid once and until `expires_at_ledger`."""

    envelope: Secret[str]
    nonce: int
    expires_at_ledger: int
    signed_in_ledger: int  # the latest one when it was signed


async def authorize(
    terms: PaymentTerms,
    wallet: Wallet,
    node: SorobanRpc,
    *,
    form: CredentialForm = CredentialForm.ADDRESS,
    max_life_s: int | None = None,
) -> Authorization:
    """Sign a transfer of exactly `terms`, and simulate it.

    The signed entry is built here, so that no node can add to it. It expires `maxTimeoutSeconds`,
    and `max_life_s` at most, after the latest ledger, in ledgers of five seconds, rounded up.

    Raises:
        AuthorizationRefused: the network would refuse the signed transfer.
        RpcUnavailable: the node is unavailable.
    """
    latest = await node.latest_ledger()
    life_s = terms.max_timeout_s if max_life_s is None else min(terms.max_timeout_s, max_life_s)
    ledgers = ledgers_for(life_s, cadence_s=SLOWEST_CADENCE_S, tolerance=0)
    expires = latest.sequence + ledgers
    nonce = draw_nonce()
    unsigned = unsigned_entry(terms, payer=wallet.address, nonce=nonce, form=form)
    signed = authorize_entry(unsigned, wallet.keypair(), expires, terms.network.passphrase)
    simulation = (await node.simulate(_envelope(terms, signed))).result
    _check_simulation(simulation)
    envelope = _envelope(terms, signed, resources=_resources(simulation))
    return Authorization(Secret(envelope), nonce, expires, latest.sequence)


def unsigned_entry(
    terms: PaymentTerms, *, payer: str, nonce: int, form: CredentialForm
) -> stellar_xdr.SorobanAuthorizationEntry:
    """Build the unsigned entry that authorizes the call `transfer(payer, payTo, amount)`."""
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
    """Build the envelope in base64; the resource fee is that of `resources`."""
    function = stellar_xdr.HostFunction(
        stellar_xdr.HostFunctionType.HOST_FUNCTION_TYPE_INVOKE_CONTRACT,
        invoke_contract=signed.root_invocation.function.contract_fn,
    )
    builder = TransactionBuilder(Account(ZERO_ACCOUNT, 0), terms.network.passphrase, _INCLUSION_FEE)
    builder.append_operation(InvokeHostFunction(function, auth=[signed])).add_time_bounds(0, 0)
    if resources is not None:
        builder.set_soroban_data(resources)
    return builder.build().to_xdr()


def _resources(simulation: Mapping[str, object]) -> stellar_xdr.SorobanTransactionData:
    try:
        return stellar_xdr.SorobanTransactionData.from_xdr(str(simulation["transactionData"]))
    except Exception as error:
        raise AuthorizationRefused("The simulation of the payment cannot be read.") from error


def _check_simulation(simulation: Mapping[str, object]) -> None:
    if "restorePreamble" in simulation:
        raise AuthorizationRefused("A ledger entry of the payment is archived; restore it first.")
    error = simulation.get("error")
    if error is None:
        return
    text = str(error)
    known = next((words for mark, words in _FAILURES if mark in text), None)
    reason = known or printable(text.partition("\n")[0])
    raise AuthorizationRefused(f"The network would refuse the payment: {reason}.")
