"""One seed of the proof of fair limits, and its control."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from prove.fork_server import ForkServer
from prove.limits_fair import CONTROLS, figures_of, holds
from prove.limits_fair_case import FairOutcome, run_case
from prove.run_cases import Control
from prove.world import World

Played = Mapping[str, FairOutcome]


@pytest.fixture(scope="module")
async def played(world: World, tmp_path_factory: pytest.TempPathFactory) -> Played:
    async with AsyncExitStack() as opened:
        worlds = {"sound": world}
        for control in CONTROLS:
            sources = control.build.write(Path(tmp_path_factory.mktemp(control.name)))
            fork_server = await opened.enter_async_context(ForkServer(sources))
            worlds[control.name] = replace(world, fork_server=fork_server)
        # one after the other: the rates are of a minute, and all at once overload two cores
        return {
            control: await run_case(each, seed)
            for seed, (control, each) in enumerate(worlds.items())
        }


def test_rate_limits_hold_and_refuse_no_other_caller(played: Played) -> None:
    figures = figures_of([played["sound"]])
    assert holds(figures), str(played["sound"])
    for counted in ("admitted", "honest", "settled"):
        assert figures[counted] != 0


@pytest.mark.parametrize("control", CONTROLS, ids=lambda each: each.defect)
def test_control_build_with_unfair_limits_is_detected(
    played: Played, control: Control[int, FairOutcome]
) -> None:
    assert control.shows([played[control.name]]), str(played[control.name])
