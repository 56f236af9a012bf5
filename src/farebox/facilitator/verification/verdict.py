"""The ladder of checks: what a signed transfer must be to be accepted.

Every function is pure and total; the first rule that fails names the only reason returned. The
order is upstream's (scheme `exact` on Stellar), except that whatever needs no network comes first.
"""

from dataclasses import dataclass
from typing import Final

from farebox.facilitator.verification.movement import is_verified_token, judge_movement
from farebox.facilitator.verification.served_network import AssetRule, OperatorRules
from farebox.kernel.addresses import Address, is_account
from farebox.kernel.networks import Network
from farebox.stellar.auth_entries import (
    AuthEntry,
    CredentialKind,
    KeySignatures,
    Unsigned,
)
from farebox.stellar.fees import FeeOverCeiling, FeePlan, plan_fees
from farebox.stellar.ledger_clock import LedgerReading, ledgers_for
from farebox.stellar.rpc import FeeStats
from farebox.stellar.signatures import every_signature_verifies, keys_are_sorted
from farebox.stellar.simulation import (
    Garbled,
    NeedsRestore,
    RefusalKind,
    Simulated,
    Simulation,
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
    """Not payable as it stands; `payer` when the request named one that could be read."""

    reason: Reason
    payer: Address | None = None


@dataclass(frozen=True, slots=True)
class SignedTransfer:
    """A payment that passed everything that needs no network."""

    payment: Payment
    envelope: TransferEnvelope
    entry: AuthEntry

    @property
    def payer(self) -> Address:
        """Whose tokens move."""
        return self.envelope.payer


@dataclass(frozen=True, slots=True)
class Accepted:
    """A payment the network would take now, and what settling it would cost at most."""

    transfer: SignedTransfer
    simulated: Simulated
    fee: FeePlan
    token_is_verified: bool

    @property
    def payer(self) -> Address:
        """The buyer, never the one who pays the network fee."""
        return self.transfer.payer


Verdict = Accepted | Rejected

_ACCEPTED_CREDENTIALS: Final = frozenset((CredentialKind.ADDRESS, CredentialKind.ADDRESS_V2))
_MAX_LAG_LEDGERS: Final = 12  # a node further behind what we have seen answers about the past


def judge_request(
    payment: Payment, rules: OperatorRules, operators: frozenset[Address]
) -> SignedTransfer | Rejected:
    """Hold a payment against everything that needs neither the ledger nor its clock.

    `operators` is every account of the operator's, none of which may have a part in a payment.
    """
    terms = payment.terms
    if terms.pay_to in operators:
        return Rejected(Reason.FACILITATOR_IS_RECIPIENT)
    if isinstance(rules.assets, frozenset) and terms.asset not in rules.assets:
        return Rejected(Reason.UNSUPPORTED_ASSET)
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
    """Hold who sends and which contract is called against the terms; None when both are right."""
    if not operators.isdisjoint((envelope.tx_source, envelope.operation_source)):
        return Reason.UNSAFE_SOURCE
    return None if envelope.contract == terms.asset else Reason.WRONG_ASSET


def judge_transfer(
    envelope: TransferEnvelope, terms: PaymentTerms, operators: frozenset[Address]
) -> Reason | None:
    """Hold who pays whom how much against the terms; None when it agrees."""
    on_pubnet = terms.network is Network.PUBNET
    checks = (
        (envelope.payer not in operators, Reason.FACILITATOR_IS_PAYER),
        (envelope.pay_to == terms.pay_to, Reason.WRONG_RECIPIENT),
        (envelope.amount == terms.amount, Reason.WRONG_AMOUNT),
        (envelope.payer != terms.pay_to or not on_pubnet, Reason.PAYER_IS_RECIPIENT),
    )
    return next((reason for holds, reason in checks if not holds), None)


def judge_entries(envelope: TransferEnvelope, operators: frozenset[Address]) -> Reason | None:
    """Hold every entry to what any entry may be; None when all are."""
    if not envelope.entries:
        return Reason.NO_AUTH_ENTRIES
    for entry in envelope.entries:
        if entry.kind not in _ACCEPTED_CREDENTIALS:
            return Reason.UNSUPPORTED_CREDENTIAL_TYPE
        if entry.address in operators:
            return Reason.FACILITATOR_IN_AUTH
        if entry.has_subinvocations:
            return Reason.HAS_SUBINVOCATIONS
    return None


def judge_payers_entry(envelope: TransferEnvelope) -> AuthEntry | Reason:
    """The payer's own signed authorization of exactly this transfer, and none beside it."""
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
    """Hold the authorization's last ledger against the window the terms allow (D19)."""
    left = entry.expires_at_ledger - now.sequence
    window = ledgers_for(
        terms.max_timeout_s, cadence_s=now.cadence_s, tolerance=rules.expiry_tolerance_ledgers
    )
    if left > window:
        return Reason.EXPIRATION_TOO_FAR
    if left < 1:
        return Reason.EXPIRED
    return Reason.EXPIRES_TOO_SOON if left < rules.min_life_ledgers else None


def judge_signatures(transfer: SignedTransfer) -> Reason | None:
    """Hold every signature a classic account lists against its own key.

    Whether the keys are signers of the account, and weigh enough, is the ledger's to say; so is
    everything about a contract account's signature.
    """
    if not is_account(transfer.payer):
        return None
    entry = transfer.entry
    if not isinstance(entry.signature, KeySignatures) or not keys_are_sorted(entry):
        return Reason.INVALID_SIGNATURE
    verified = every_signature_verifies(entry, transfer.payment.terms.network.id)
    return None if verified else Reason.INVALID_SIGNATURE


def judge_simulation(simulation: Simulation, now: LedgerReading) -> Simulated | Reason:
    """Hold a node's answer to what it must be before its contents mean anything.

    A refusal as of a ledger older than one known here is no verdict: what the call lacks may be
    there by now. `now` was read before the node was asked.
    """
    if isinstance(simulation, Garbled):
        return Reason.NETWORK_UNAVAILABLE
    if simulation.latest_ledger + _MAX_LAG_LEDGERS < now.sequence:
        return Reason.NETWORK_UNAVAILABLE
    if isinstance(simulation, Simulated):
        return simulation
    if simulation.latest_ledger < now.sequence:
        return Reason.NETWORK_UNAVAILABLE
    needs_restore = isinstance(simulation, NeedsRestore) or simulation.kind is RefusalKind.ARCHIVED
    return Reason.RESTORE_REQUIRED if needs_restore else Reason.SIMULATION_FAILED


def judge_effect(
    simulated: Simulated, transfer: SignedTransfer, rules: OperatorRules, market: FeeStats | None
) -> Accepted | Reason:
    """Hold what the network would do against what was asked, and its cost against the ceiling."""
    terms = transfer.payment.terms
    moved = judge_movement(simulated.events, terms, transfer.payer)
    if isinstance(moved, Reason):
        return moved
    verified = is_verified_token(moved, terms.network)
    if rules.assets is AssetRule.ASSET_CONTRACTS and not verified:
        return Reason.UNSUPPORTED_ASSET
    fee = plan_fees(simulated.resource_fee, market, rules.fees, fee_bumped=True)
    if isinstance(fee, FeeOverCeiling):
        return Reason.FEE_EXCEEDS_MAXIMUM
    return Accepted(transfer, simulated, fee, token_is_verified=verified)
