"""One seed of the proof of fair limits, and its control."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from prove.fork_server import ForkServer
from prove.limits_fair import SHOWN, figures_of, holds
from prove.limits_fair_case import Outcome, run_case
from prove.limits_fair_control import Control, broken_sources
from prove.world import World

Played = Mapping[Control | None, Outcome]


@pytest.fixture(scope="module")
async def played(world: World, tmp_path_factory: pytest.TempPathFactory) -> Played:
    async with AsyncExitStack() as opened:
        worlds: dict[Control | None, World] = {None: world}
        for control in Control:
            sources = broken_sources(Path(tmp_path_factory.mktemp(control.name)), control)
            fork_server = await opened.enter_async_context(ForkServer(sources))
            worlds[control] = replace(world, fork_server=fork_server)
        # one after the other: the rates are of a minute, and all at once overload two cores
        return {
            control: await run_case(each, seed)
            for seed, (control, each) in enumerate(worlds.items())
        }


def test_rate_limits_hold_and_refuse_no_other_caller(played: Played) -> None:
    figures = figures_of([played[None]])
    assert holds(figures), str(played[None])
    for counted in ("admitted", "honest", "settled"):
        assert figures[counted] != 0


@pytest.mark.parametrize("control", list(Control))
def test_control_build_with_unfair_limits_is_detected(played: Played, control: Control) -> None:
    figures = figures_of([played[control]])
    assert all(figures[shown] for shown in SHOWN[control]), str(played[control])
