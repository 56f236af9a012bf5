"""A seed of the proof of accounts, and that the proof can fail."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from prove.auth import figures_of, holds
from prove.auth_case import Kind, Outcome, play
from prove.auth_control import careless_sources
from prove.warm import Warm
from prove.world import World

Played = tuple[Sequence[Outcome], Sequence[Outcome]]


@pytest.fixture(scope="module")
async def played(world: World, tmp_path_factory: pytest.TempPathFactory) -> Played:
    sources = careless_sources(Path(tmp_path_factory.mktemp("careless")))
    async with Warm(sources) as careless:
        sound, broken = await asyncio.gather(play(world, 1), play(replace(world, warm=careless), 0))
    return sound, broken


def test_what_is_given_out_once_is_given_out_once_and_what_has_ended_has_ended(
    played: Played,
) -> None:
    figures = figures_of(played[0])
    assert holds(figures), [str(outcome) for outcome in played[0]]
    assert figures["cases"] == len(Kind)
    assert figures["sessions"] == 1
    for counted in ("keys", "used"):
        assert figures[counted] != 0


def test_a_build_that_gives_out_twice_and_remembers_too_long_is_caught(played: Played) -> None:
    figures = figures_of(played[1])
    assert figures["extra_sessions"] != 0
    assert figures["extra_keys"] != 0
    assert figures["late_accepts"] != 0
