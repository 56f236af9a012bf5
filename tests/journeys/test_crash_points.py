"""A few cases of the proof of settlement, and that the proof can fail."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from prove.case import Asking, Case, Crew
from prove.control import control_sources
from prove.crash import Outcome, play, record
from prove.gate import Boundary, Side
from prove.lanes import in_lanes
from prove.ledgers import Landing
from prove.truth import Fault
from prove.warm import Warm
from prove.world import World
from support.promises import promise

SEND = Boundary("rpc sendTransaction", 1)
READING = ("sql prepare", "sql SELECT", "sql BEGIN", "sql WITH RECURSIVE")
POLL = "rpc getHealth"  # by the ledger clock as well, as often as time passes
STALE_CLAIMS = "sql DELETE FROM settlements s USING"  # by reconciliation's clock, not the caller's
_LANES = 6


def kill_at(
    boundary: Boundary,
    side: Side = Side.AFTER,
    *,
    landing: Landing = Landing.LANDS,
    crew: Crew = Crew.ONE,
    asking: Asking = Asking.REPEATS,
) -> Case:
    return Case(0, 0, boundary, side, landing, crew, asking)


SURVIVED = kill_at(SEND, crew=Crew.TWO_AT_ONCE, asking=Asking.GIVES_UP)
STARVED = kill_at(SEND, Side.BEFORE, landing=Landing.NEVER, asking=Asking.GIVES_UP)
CARELESS = replace(kill_at(SEND, asking=Asking.GIVES_UP), seed=-1)


@pytest.fixture(scope="module")
async def played(world: World, tmp_path_factory: pytest.TempPathFactory) -> Mapping[Case, Outcome]:
    """Every case below, several at a time: most of what they take is waiting."""
    crossed = [each for each in await record(world, Crew.ONE) if not _is_no_step(each)]
    cases = [CARELESS, SURVIVED, STARVED, *map(kill_at, dict.fromkeys(crossed))]
    async with Warm(control_sources(Path(tmp_path_factory.mktemp("control")))) as careless:
        control = replace(world, warm=careless)

        async def one(case: Case) -> Outcome:
            return await play(control if case is CARELESS else world, case)

        outcomes = await in_lanes(cases, one, lanes=_LANES, told="crash points")
    return dict(zip(cases, outcomes, strict=True))


def _is_no_step(boundary: Boundary) -> bool:
    return boundary.label.startswith((*READING, POLL, STALE_CLAIMS))


@promise("error:never-a-double-charge", "settle:reconciles-by-hash")
def test_wherever_it_is_killed_nothing_is_lost_or_doubled(
    played: Mapping[Case, Outcome],
) -> None:
    """Every statement that changes something and every call to the node, its answer lost."""
    swept = [outcome for case, outcome in played.items() if case is not CARELESS]
    assert len(swept) >= 10
    assert [str(each) for each in swept if each.found or not each.is_reached] == []


@promise("error:never-a-double-charge")
def test_of_two_replicas_the_other_finishes_what_the_killed_one_sent(
    played: Mapping[Case, Outcome],
) -> None:
    outcome = played[SURVIVED]
    assert (outcome.state, outcome.answers.count("success")) == ("confirmed", 1)


@promise("settle:reconciles-by-hash")
def test_what_never_lands_ends_without_a_caller(played: Mapping[Case, Outcome]) -> None:
    outcome = played[STARVED]
    assert (outcome.state, outcome.answers) == ("dead", ["cut off"])


def test_without_the_write_ahead_a_landed_payment_is_lost(
    played: Mapping[Case, Outcome],
) -> None:
    outcome = played[CARELESS]
    assert outcome.is_reached
    assert Fault.LOST in {each.fault for each in outcome.found}, str(outcome)
