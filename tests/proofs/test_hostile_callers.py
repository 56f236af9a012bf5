"""The short form of the proof of hostile callers, and its control."""

from dataclasses import replace
from pathlib import Path

import pytest

from prove.fork_server import ForkServer
from prove.hostile import (
    CONTROL,
    HEALTH_P95_MS,
    MEMORY_GROWTH_MB,
    figures_of,
    holds,
)
from prove.hostile_case import HostileCase, HostileOutcome, run_case
from prove.hostile_kinds import Hostility
from prove.world import World

# those that are over soon: a body has fifteen seconds
QUICK = frozenset(Hostility) - {
    Hostility.HALF_BODY,
    Hostility.DRIPPING_BODY,
    Hostility.EXTENSION,
    Hostility.TRAILERS,
}


@pytest.fixture(scope="module")
async def outcome(world: World) -> HostileOutcome:
    kinds = tuple(kind for kind in Hostility if kind in QUICK)
    return await run_case(
        world, HostileCase(1, connections=180, seconds=2.0, judged=20, kinds=kinds)
    )


def test_payments_settle_under_hostile_callers(outcome: HostileOutcome) -> None:
    figures = figures_of([outcome])
    assert holds(figures), str(outcome)
    assert outcome.honest
    assert outcome.health_ms
    assert outcome.report.opened >= 180
    for status in ("400", "408", "414", "431"):
        assert outcome.report.statuses[status], str(outcome)


async def test_control_build_without_bounds_is_detected(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sources = CONTROL.build.write(Path(tmp_path_factory.mktemp("unbounded")))
    async with ForkServer(sources) as unbounded:
        control = await run_case(replace(world, fork_server=unbounded), CONTROL.cases[0])
    assert CONTROL.shows([control]), str(control)


def test_figure_beyond_its_bound_fails() -> None:
    quiet = HostileOutcome(CONTROL.cases[0], health_ms=[1.0], memory_growth_mb=MEMORY_GROWTH_MB)
    good = figures_of([quiet])
    assert holds(good)
    for key, value in (
        ("honest_failed", 1),
        ("left_open", 1),
        ("health_failed", 1),
        ("memory_growth_mb", MEMORY_GROWTH_MB + 1),
        ("health_p95_ms", HEALTH_P95_MS + 1),
        ("open_after_s", 31),
        ("loop_stall_ms_max", 51),
    ):
        assert not holds(good | {key: value})
