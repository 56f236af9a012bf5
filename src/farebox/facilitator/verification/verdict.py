"""The rules that a signed transfer must meet to be accepted.

Every function is pure and total; the first rule that fails gives the only reason returned. The
order is upstream's (scheme `exact` on Stellar), except that rules without a network call are first.
"""

from dataclasses import dataclass
from typing import Final

from farebox.facilitator.verification.movement import is_verified_token, judge_movement
from farebox.facilitator.verification.operator_rules import AssetRule, OperatorRules
from farebox.kernel.addresses import Address, is_account
from farebox.kernel.networks import Network
from farebox.stellar.auth_entries import (
    PAYING_KINDS,
    AuthEntry,
    KeySignatures,
    Unsigned,
    every_signature_verifies,
    keys_are_sorted,
)
from farebox.stellar.fees import FeeOverCeiling, FeePlan, plan_fees
from farebox.stellar.ledger_clock import LedgerReading, ledgers_for
from farebox.stellar.rpc import FeeStats
from farebox.stellar.simulation import (
    NeedsRestore,
    RefusalKind,
    Simulated,
    Simulation,
    UnreadableSimulation,
)
from farebox.stellar.transfer_envelope import (
    NotATransfer,
    TransferEnvelope,
    Unreadable,
    read_transfer_envelope,
)
from farebox.x402.payment import Payment, PaymentTerms
from farebox.x402.reasons import Reason


@dataclass(frozen=True, slots=True)
class Rejected:
    """The payment is refused; `payer` is None when the request names none that can be read."""

    reason: Reason
    payer: Address | None = None


@dataclass(frozen=True, slots=True)
class SignedTransfer:
    """A payment that passed every rule that needs no network."""

    payment: Payment
    envelope: TransferEnvelope
    entry: AuthEntry

    @property
    def payer(self) -> Address:
        """The account whose tokens move."""
        return self.envelope.payer


@dataclass(frozen=True, slots=True)
class Accepted:
    """A payment that the network would accept now, with the fee of its settlement."""

    transfer: SignedTransfer
    simulated: Simulated
    fee: FeePlan
    token_is_verified: bool

    @property
    def payer(self) -> Address:
        """The buyer, who does not pay the network fee."""
        return self.transfer.payer


Verdict = Accepted | Rejected

_BY_KIND: Final = {
    RefusalKind.ARCHIVED: Reason.RESTORE_REQUIRED,
    RefusalKind.BALANCE: Reason.INSUFFICIENT_FUNDS,
}
_MAX_LAG_LEDGERS: Final = 12  # a response as of an older ledger is stale


def judge_policy(terms: PaymentTerms, rules: OperatorRules) -> Reason | None:
    """Judge the terms by the operator's asset list; None when they are allowed."""
    if isinstance(rules.assets, frozenset) and terms.asset not in rules.assets:
        return Reason.UNSUPPORTED_ASSET
    return None


def judge_request(payment: Payment, operators: frozenset[Address]) -> SignedTransfer | Rejected:
    """Judge a payment by every rule that needs neither ledger, clock nor asset list.

    `operators` are all accounts of the operator, none of which may take part in a payment.
    """
    terms = payment.terms
    if terms.pay_to in operators:
        return Rejected(Reason.FACILITATOR_IS_RECIPIENT)
    envelope = read_transfer_envelope(payment.transaction.reveal())
    if isinstance(envelope, Unreadable):
        return Rejected(envelope.reason)
    wrong_call = judge_call(envelope, terms, operators)
    if wrong_call is not None or isinstance(envelope, NotATransfer):
        return Rejected(wrong_call or Reason.WRONG_FUNCTION_NAME)
    reason = judge_transfer(envelope, terms, operators) or judge_entries(envelope, operators)
    if reason is not None:
        return Rejected(reason, envelope.payer)
    entry = judge_payers_entry(envelope)
    if isinstance(entry, Reason):
        return Rejected(entry, envelope.payer)
    return SignedTransfer(payment, envelope, entry)


def judge_call(
    envelope: TransferEnvelope | NotATransfer, terms: PaymentTerms, operators: frozenset[Address]
) -> Reason | None:
    """Judge the sources and the contract of the call; None when both are right."""
    if not operators.isdisjoint((envelope.tx_source, envelope.operation_source)):
        return Reason.UNSAFE_SOURCE
    return None if envelope.contract == terms.asset else Reason.WRONG_ASSET


def judge_transfer(
    envelope: TransferEnvelope, terms: PaymentTerms, operators: frozenset[Address]
) -> Reason | None:
    """Judge payer, recipient and amount by the terms; None when they agree."""
    on_pubnet = terms.network is Network.PUBNET
    checks = (
        (envelope.payer not in operators, Reason.FACILITATOR_IS_PAYER),
        (envelope.pay_to == terms.pay_to, Reason.WRONG_RECIPIENT),
        (envelope.amount == terms.amount, Reason.WRONG_AMOUNT),
        (envelope.payer != terms.pay_to or not on_pubnet, Reason.PAYER_IS_RECIPIENT),
    )
    return next((reason for holds, reason in checks if not holds), None)


def judge_entries(envelope: TransferEnvelope, operators: frozenset[Address]) -> Reason | None:
    """Judge every authorization entry by the rules for any entry; None when all meet them."""
    if not envelope.entries:
        return Reason.NO_AUTH_ENTRIES
    for entry in envelope.entries:
        if entry.kind not in PAYING_KINDS:
            return Reason.UNSUPPORTED_CREDENTIAL_TYPE
        if entry.address in operators:
            return Reason.FACILITATOR_IN_AUTH
        if entry.has_subinvocations:
            return Reason.HAS_SUBINVOCATIONS
    return None


def judge_payers_entry(envelope: TransferEnvelope) -> AuthEntry | Reason:
    """Find the payer's signed authorization of exactly this transfer, the only one allowed."""
    signed = [entry for entry in envelope.entries if not isinstance(entry.signature, Unsigned)]
    if not any(entry.address == envelope.payer for entry in signed):
        return Reason.MISSING_PAYER_SIGNATURE
    if len(signed) < len(envelope.entries):
        return Reason.UNEXPECTED_PENDING_SIGNATURES
    if len(signed) > 1:
        return Reason.UNEXPECTED_AUTH_ENTRY
    if not signed[0].is_contract_call or signed[0].root_call != envelope.call:
        return Reason.AUTH_NOT_FOR_TRANSFER
    return signed[0]


def judge_expiry(
    entry: AuthEntry, terms: PaymentTerms, rules: OperatorRules, now: LedgerReading
) -> Reason | None:
    """Judge the authorization's last ledger by the window of the terms.

    The window is `maxTimeoutSeconds` at the observed cadence, five seconds at most, and the
    operator's tolerance in ledgers. By a ledger that a single look has named nothing is refused for
    good: a node may be ahead of the network or behind it.
    """
    left = entry.expires_at_ledger - now.sequence
    window = ledgers_for(
        terms.max_timeout_s, cadence_s=now.cadence_s, tolerance=rules.expiry_tolerance_ledgers
    )
    rules_in_order = (
        (left > window, Reason.EXPIRATION_TOO_FAR),
        (left < 1, Reason.EXPIRED),
        (expires_too_soon(entry.expires_at_ledger, rules, now), Reason.EXPIRES_TOO_SOON),
    )
    reason = next((reason for fails, reason in rules_in_order if fails), None)
    return reason if reason is None or now.is_confirmed else Reason.NETWORK_UNAVAILABLE


def expires_too_soon(expires_at_ledger: int, rules: OperatorRules, now: LedgerReading) -> bool:
    """Whether the authorization ends too soon for an envelope at the observed cadence."""
    left = expires_at_ledger - now.sequence
    is_brief = now.time_until(expires_at_ledger) < now.shortest_bound_s()
    return left < rules.min_life_ledgers or is_brief


def judge_signatures(transfer: SignedTransfer) -> Reason | None:
    """Verify every signature that a classic account lists with its own key.

    The ledger decides whether the keys are signers of the account with enough weight, and judges
    the signature of a contract account.
    """
    if not is_account(transfer.payer):
        return None
    entry = transfer.entry
    if not isinstance(entry.signature, KeySignatures) or not keys_are_sorted(entry):
        return Reason.INVALID_SIGNATURE
    verified = every_signature_verifies(entry, transfer.payment.terms.network.id)
    return None if verified else Reason.INVALID_SIGNATURE


def judge_simulation(simulation: Simulation, now: LedgerReading) -> Simulated | Reason:
    """Judge a node's response before its contents are used.

    A refusal as of a ledger older than `now` is no verdict: an entry that the call lacks may exist
    by now. `now` was read before the call. One that is missing may exist as of the next ledger, or
    exist and not have been delivered, so that nothing is refused for good by it.
    """
    if isinstance(simulation, UnreadableSimulation):
        return Reason.NETWORK_UNAVAILABLE
    if simulation.latest_ledger + _MAX_LAG_LEDGERS < now.sequence:
        return Reason.NETWORK_UNAVAILABLE
    if isinstance(simulation, Simulated):
        return simulation
    if simulation.latest_ledger < now.sequence:
        return Reason.NETWORK_UNAVAILABLE
    if isinstance(simulation, NeedsRestore):
        return Reason.RESTORE_REQUIRED
    otherwise = Reason.ENTRY_MISSING if simulation.entry_is_missing else Reason.SIMULATION_FAILED
    return _BY_KIND.get(simulation.kind, otherwise)


def judge_effect(
    simulated: Simulated, transfer: SignedTransfer, rules: OperatorRules, market: FeeStats | None
) -> Accepted | Reason:
    """Judge the simulated effect by the terms, and its cost by the fee ceiling."""
    terms = transfer.payment.terms
    movement = judge_movement(simulated.events, terms, transfer.payer)
    if isinstance(movement, Reason):
        return movement
    verified = is_verified_token(movement, terms.network)
    if rules.assets is AssetRule.ASSET_CONTRACTS and not verified:
        return Reason.UNSUPPORTED_ASSET
    fee = plan_fees(simulated.resource_fee, market, rules.fees, fee_bumped=True)
    if isinstance(fee, FeeOverCeiling):
        return Reason.FEE_EXCEEDS_MAXIMUM
    return Accepted(transfer, simulated, fee, token_is_verified=verified)
