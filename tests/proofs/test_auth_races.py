"""One seed of the proof of accounts, and its control."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from prove.auth import CONTROL, figures_of, holds
from prove.auth_case import AuthKind, AuthOutcome, run_case
from prove.fork_server import ForkServer
from prove.world import World

Played = tuple[Sequence[AuthOutcome], Sequence[AuthOutcome]]


@pytest.fixture(scope="module")
async def played(world: World, tmp_path_factory: pytest.TempPathFactory) -> Played:
    sources = CONTROL.build.write(Path(tmp_path_factory.mktemp("careless")))
    async with ForkServer(sources) as careless:
        sound, broken = await asyncio.gather(
            run_case(world, 1), run_case(replace(world, fork_server=careless), 0)
        )
    return sound, broken


def test_single_use_credentials_are_issued_once_and_ended_ones_stay_ended(
    played: Played,
) -> None:
    figures = figures_of(played[0])
    assert holds(figures), [str(outcome) for outcome in played[0]]
    assert figures["cases"] == len(AuthKind)
    assert figures["sessions"] == 1
    for counted in ("keys", "used"):
        assert figures[counted] != 0


def test_control_double_issue_and_stale_session_builds_are_detected(played: Played) -> None:
    figures = figures_of(played[1])
    assert figures["extra_sessions"] != 0
    assert figures["extra_keys"] != 0
    assert figures["late_accepts"] != 0
