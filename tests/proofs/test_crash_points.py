"""Some cases of the proof of settlement, and its controls."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from prove.case import UNDISTURBED, CallerBehaviour, CrashCase, Topology
from prove.crash import CrashOutcome, record, run_until_reached
from prove.fork_server import ForkServer
from prove.interceptor import Boundary, CrashTiming
from prove.ledger_closer import Landing
from prove.payment_check import SettlementViolation
from prove.pg_frames import Frame, Request, Statements
from prove.run_cases import run_concurrently
from prove.settlement import CARELESS as CARELESS_BUILD
from prove.settlement import DEAF as DEAF_BUILD
from prove.settlement import MOST_CONNECTIONS
from prove.world import World
from support.promises import promise

SEND = Boundary("rpc sendTransaction", 1)
SECOND = Boundary("rpc sendTransaction", 2)
READING = ("sql prepare", "sql SELECT", "sql BEGIN", "sql WITH RECURSIVE")
POLL = "rpc getHealth"  # by the ledger clock as well, as often as time passes
STALE_CLAIMS = "sql DELETE FROM settlements s USING"  # by reconciliation's clock, not the caller's
_WORKERS = 6


def kill_at(
    boundary: Boundary,
    timing: CrashTiming = CrashTiming.AFTER,
    *,
    landing: Landing = Landing.LANDS,
    topology: Topology = Topology.ONE,
    behaviour: CallerBehaviour = CallerBehaviour.REPEATS,
) -> CrashCase:
    return CrashCase(0, 0, boundary, timing, landing, topology, behaviour)


# the caller repeats, because a slow machine may answer pending
SURVIVED = kill_at(SEND, topology=Topology.TWO_AT_ONCE)
STARVED = kill_at(
    SEND, CrashTiming.BEFORE, landing=Landing.NEVER, behaviour=CallerBehaviour.GIVES_UP
)
CARELESS = replace(kill_at(SEND, behaviour=CallerBehaviour.GIVES_UP), seed=-1)
# Whether the defect shows depends on who looks first: the build gets several attempts.
DEAF = [replace(UNDISTURBED, seed=-1, number=number) for number in range(3)]
DEAF_LATER = [replace(UNDISTURBED, seed=-1, number=number) for number in range(3, 9)]
REPEATED = replace(UNDISTURBED, behaviour=CallerBehaviour.REPEATS)  # likewise
REPLACED = kill_at(SECOND, topology=Topology.REPLACED)


@pytest.fixture(scope="module")
async def played(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[CrashCase, CrashOutcome]:
    """Every case below, several at a time: most of what they take is waiting."""
    one_time, another = await asyncio.gather(*(record(world, Topology.ONE) for _ in range(2)))
    calls = [each for each in one_time if each in another and not _is_no_step(each)]
    broken = [CARELESS, *DEAF]
    cases = [*broken, REPEATED, REPLACED, SURVIVED, STARVED]
    cases += map(kill_at, dict.fromkeys(calls))
    folders = [Path(tmp_path_factory.mktemp("control")) for _ in range(2)]
    async with (
        ForkServer(CARELESS_BUILD.write(folders[0])) as careless,
        ForkServer(DEAF_BUILD.write(folders[1])) as deaf,
    ):
        worlds = dict.fromkeys([*DEAF, *DEAF_LATER], replace(world, fork_server=deaf))
        worlds[CARELESS] = replace(world, fork_server=careless)

        async def one(case: CrashCase) -> CrashOutcome:
            return await run_until_reached(worlds.get(case, world), case)

        outcomes = await run_concurrently(cases, one, workers=_WORKERS, label="crash points")
        played = dict(zip(cases, outcomes, strict=True))
        for case in DEAF_LATER:
            if not _is_deaf_caught(played):
                played[case] = await one(case)
    return played


def _is_deaf_caught(played: Mapping[CrashCase, CrashOutcome]) -> bool:
    outcomes = [outcome for case, outcome in played.items() if case in (*DEAF, *DEAF_LATER)]
    violations = {each.violation for outcome in outcomes for each in outcome.findings}
    return SettlementViolation.LOST in violations


def _is_no_step(boundary: Boundary) -> bool:
    return boundary.label.startswith((*READING, POLL, STALE_CLAIMS))


@promise("error:never-a-double-charge", "settle:reconciles-by-hash")
def test_crash_at_any_point_loses_or_doubles_no_payment(
    played: Mapping[CrashCase, CrashOutcome],
) -> None:
    """Every statement that changes something and every call to the node, its answer lost."""
    swept = [outcome for case, outcome in played.items() if case.seed == 0]
    assert len(swept) >= 10
    assert [str(each) for each in swept if each.findings or not each.is_reached] == []


def test_replica_connections_stay_within_default_settings(
    played: Mapping[CrashCase, CrashOutcome],
) -> None:
    assert 0 < max(outcome.connections_max for outcome in played.values()) <= MOST_CONNECTIONS


def test_statements_with_common_prefix_are_different_boundaries() -> None:
    alike = "SELECT " + "a, " * 50
    requests = [
        Request([Frame(ord("Q"), b"Q" + b"\0" * 4 + text.encode() + b"\0")])
        for text in (f"{alike}b", f"{alike}c", f"{alike}b")
    ]
    one, other, again = (Statements().label(each) for each in requests)
    assert one == again != other


@promise("error:never-a-double-charge")
def test_other_replica_finishes_payment_of_killed_one(
    played: Mapping[CrashCase, CrashOutcome],
) -> None:
    outcome = played[SURVIVED]
    assert (outcome.state, outcome.answers.count("success")) == ("confirmed", 1)


@promise("settle:reconciles-by-hash")
def test_payment_that_never_lands_ends_without_caller(
    played: Mapping[CrashCase, CrashOutcome],
) -> None:
    outcome = played[STARVED]
    assert (outcome.state, outcome.answers) == ("dead", ["cut off"])


def test_control_build_without_write_ahead_loses_landed_payment(
    played: Mapping[CrashCase, CrashOutcome],
) -> None:
    outcome = played[CARELESS]
    assert outcome.is_reached
    assert SettlementViolation.LOST in {each.violation for each in outcome.findings}, str(outcome)


@promise("error:never-a-double-charge")
def test_outcome_of_replaced_envelope_is_not_returned(
    played: Mapping[CrashCase, CrashOutcome],
) -> None:
    """Control: a build that does not ask whether it ended the row answers a failure."""
    assert "success" in played[REPEATED].answers
    assert (played[REPLACED].state, played[REPLACED].answers.count("success")) == ("confirmed", 1)
    assert _is_deaf_caught(played), [str(played[case]) for case in DEAF]
