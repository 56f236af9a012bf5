"""Verdicts from a node's simulation, and the shortest life an authorization must have left."""

from dataclasses import replace

import pytest

from farebox.facilitator.verification.operator_rules import AssetRule, OperatorRules
from farebox.facilitator.verification.verdict import (
    expires_too_soon,
    judge_expiry,
    judge_simulation,
)
from farebox.kernel.addresses import account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.stellar.fees import FeePolicy
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.simulation import (
    NeedsRestore,
    RefusalKind,
    Simulated,
    Simulation,
    SimulationRefused,
    UnreadableSimulation,
)
from farebox.stellar.soroban_data import Resources
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support.accepted_payment import RULES as PAYMENT_RULES
from support.accepted_payment import signed_transfer
from support.manual_clock import START

NOW = LedgerReading(sequence=100, close_at=START, cadence_s=5, age_s=1)


def simulated(ledger: int) -> Simulated:
    return Simulated(b"", Resources(1, 1, 0, 1, 1, 1, 1), (), ledger)


@pytest.mark.parametrize(
    ("left", "reason"),
    [
        (15, Reason.EXPIRATION_TOO_FAR),
        (0, Reason.EXPIRED),
        (-60, Reason.EXPIRED),
        (2, Reason.EXPIRES_TOO_SOON),
        (12, None),
    ],
)
def test_expiry_is_refused_for_good_only_by_a_confirmed_ledger(
    left: int, reason: Reason | None
) -> None:
    """Control: the refusal by whichever ledger a node has named last."""
    transfer = signed_transfer()
    entry = replace(transfer.entry, expires_at_ledger=NOW.sequence + left)
    terms = transfer.payment.terms
    assert judge_expiry(entry, terms, PAYMENT_RULES, NOW) is reason
    doubtful = replace(NOW, is_confirmed=False)
    later = None if reason is None else Reason.NETWORK_UNAVAILABLE
    assert judge_expiry(entry, terms, PAYMENT_RULES, doubtful) is later
    assert REGISTRY[Reason.NETWORK_UNAVAILABLE].retry is Retry.LATER


_OWN_REASON = {
    RefusalKind.EXPIRED: Reason.NETWORK_UNAVAILABLE,
    RefusalKind.ARCHIVED: Reason.RESTORE_REQUIRED,
    RefusalKind.BALANCE: Reason.INSUFFICIENT_FUNDS,  # more may arrive: retry later
}


@pytest.mark.parametrize("kind", list(RefusalKind))
def test_refusal_as_of_the_current_ledger_is_a_verdict(kind: RefusalKind) -> None:
    reason = _OWN_REASON.get(kind, Reason.SIMULATION_FAILED)
    assert judge_simulation(SimulationRefused(kind, 100), NOW) is reason


@pytest.mark.parametrize("kind", [RefusalKind.OTHER, RefusalKind.TRUSTLINE, RefusalKind.BALANCE])
def test_missing_entry_is_refused_until_it_is_there(kind: RefusalKind) -> None:
    """An account may be made in the next ledger, or not have been delivered."""
    reason = judge_simulation(SimulationRefused(kind, 100, entry_is_missing=True), NOW)
    assert reason is _OWN_REASON.get(kind, Reason.ENTRY_MISSING)
    assert REGISTRY[reason].retry is Retry.LATER


@pytest.mark.parametrize(
    "simulation",
    [
        UnreadableSimulation("events"),
        *(SimulationRefused(kind, 99) for kind in RefusalKind),
        NeedsRestore(99),
        simulated(87),
    ],
)
def test_simulation_of_a_node_that_is_behind_is_network_unavailable(simulation: Simulation) -> None:
    reason = judge_simulation(simulation, NOW)
    assert reason is Reason.NETWORK_UNAVAILABLE
    assert REGISTRY[reason].retry is Retry.LATER


@pytest.mark.parametrize(
    "simulation", [NeedsRestore(100), SimulationRefused(RefusalKind.ARCHIVED, 100)]
)
def test_archived_entry_is_restore_required_in_both_forms(simulation: Simulation) -> None:
    reason = judge_simulation(simulation, NOW)
    assert reason is Reason.RESTORE_REQUIRED
    assert REGISTRY[reason].retry is Retry.LATER


@pytest.mark.parametrize("ledger", [88, 99, 100, 101])
def test_success_is_accepted_within_twelve_ledgers(ledger: int) -> None:
    assert judge_simulation(simulated(ledger), NOW) == simulated(ledger)


RULES = OperatorRules(
    network=Network.TESTNET,
    relayer=account_address(bytes(32)),
    assets=AssetRule.ANY,
    fees=FeePolicy(ceiling=Stroops(1), inclusion_cap=Stroops(1)),
    expiry_tolerance_ledgers=2,
    min_life_ledgers=3,
    transaction_life_s=45,
)


@pytest.mark.parametrize(
    ("left", "cadence_s", "age_s", "target_s", "is_short"),
    [
        (3, 5.0, 5.0, 5.0, False),
        (3, 5.0, 5.1, 5.0, True),
        (2, 9.0, 0.0, 5.0, True),
        (10, 1.0, 0.0, 5.0, False),
        (9, 1.0, 0.0, 5.0, True),
        (12, 1.0, 2.5, 5.0, True),
        (3, 60.0, 0.0, 5.0, False),
        (10, 0.2, 0.0, 0.2, False),
        (9, 0.2, 0.0, 0.2, True),
    ],
)
def test_authorization_expires_too_soon_when_it_ends_before_an_envelope_could_land(
    left: int, cadence_s: float, age_s: float, target_s: float, *, is_short: bool
) -> None:
    """A node refuses an envelope whose time bound is less than two ledgers away (whole seconds)."""
    now = LedgerReading(100, START, cadence_s, age_s, target_s)
    assert expires_too_soon(100 + left, RULES, now) is is_short
