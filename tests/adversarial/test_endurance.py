"""Cases 6.1 and 6.3 that take a while: crash after crash, and load under faults, in short forms.

The long forms are `make prove PROOF=settlement` (200 payments, forty kills) and `make soak`.
"""

import asyncio

from prove.arena import opened_arena
from prove.crash_loop import Loop, play_loop
from prove.soak import DESCRIPTORS_GROWTH, RSS_GROWTH, SETTINGS, run
from prove.vital_signs import Sample, trend
from prove.world import World
from support.promises import case, promise

MB = 1_000_000
_AT_MOST_S = 60


@case("RL-012")
@promise("error:never-a-double-charge")
async def test_crash_after_crash_every_payment_ends_settled_once_or_not_at_all(
    world: World,
) -> None:
    async with asyncio.timeout(_AT_MOST_S):
        outcome = await play_loop(world, Loop(seed=12, payments=30, kills=3, replicas=2))
    assert outcome.found == [], str(outcome)
    assert outcome.settled > 0


@case("RL-044")
async def test_under_load_and_faults_it_stays_level_and_keeps_its_books(world: World) -> None:
    async with asyncio.timeout(_AT_MOST_S), opened_arena(world, SETTINGS) as arena:
        holds, figures = await run(arena, 6.0, seed=1, every_s=0.7)
    assert holds, figures
    assert figures["faults"], "nothing went wrong"


def test_a_leak_is_seen() -> None:
    level = [Sample(at, 50 * MB, 20, at) for at in range(100)]
    assert trend(level).is_flat(growth=RSS_GROWTH, descriptors=DESCRIPTORS_GROWTH)
    swelling = [Sample(at, 50 * MB + at * MB // 5, 20, at) for at in range(100)]
    assert not trend(swelling).is_flat(growth=RSS_GROWTH, descriptors=DESCRIPTORS_GROWTH)
    holding_on = [Sample(at, 50 * MB, 20 + at // 2, at) for at in range(100)]
    assert not trend(holding_on).is_flat(growth=RSS_GROWTH, descriptors=DESCRIPTORS_GROWTH)
