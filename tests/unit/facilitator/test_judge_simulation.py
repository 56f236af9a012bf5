"""What a node's simulation may decide, and as of when."""

import pytest

from farebox.facilitator.verification.verdict import judge_simulation
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.simulation import (
    Garbled,
    NeedsRestore,
    RefusalKind,
    Simulated,
    Simulation,
    SimulationRefused,
)
from farebox.stellar.soroban_data import Resources
from farebox.x402.reasons import REGISTRY, Reason, Retry
from support.manual_clock import START

NOW = LedgerReading(sequence=100, close_at=START, cadence_s=5, age_s=1)


def simulated(ledger: int) -> Simulated:
    return Simulated(b"", Resources(1, 1, 0, 1, 1, 1, 1), (), ledger)


@pytest.mark.parametrize("kind", [kind for kind in RefusalKind if kind is not RefusalKind.ARCHIVED])
def test_a_refusal_about_now_is_a_verdict(kind: RefusalKind) -> None:
    assert judge_simulation(SimulationRefused(kind, 100), NOW) is Reason.SIMULATION_FAILED


@pytest.mark.parametrize(
    "simulation",
    [
        Garbled("events"),
        *(SimulationRefused(kind, 99) for kind in RefusalKind),
        NeedsRestore(99),
        simulated(87),
    ],
)
def test_what_a_node_that_is_behind_says_may_be_otherwise_by_now(simulation: Simulation) -> None:
    reason = judge_simulation(simulation, NOW)
    assert reason is Reason.NETWORK_UNAVAILABLE
    assert REGISTRY[reason].retry is Retry.LATER


@pytest.mark.parametrize(
    "simulation", [NeedsRestore(100), SimulationRefused(RefusalKind.ARCHIVED, 100)]
)
def test_an_archived_entry_has_a_reason_of_its_own_in_either_form(simulation: Simulation) -> None:
    reason = judge_simulation(simulation, NOW)
    assert reason is Reason.RESTORE_REQUIRED
    assert REGISTRY[reason].retry is Retry.LATER


@pytest.mark.parametrize("ledger", [88, 99, 100, 101])
def test_a_call_that_succeeds_a_little_ago_is_taken(ledger: int) -> None:
    assert judge_simulation(simulated(ledger), NOW) == simulated(ledger)
