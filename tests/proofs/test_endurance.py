"""Cases 6.1 and 6.3 that take a while: crash after crash, and load under faults, in short forms.

The long forms are `make prove PROOF=settlement` (200 payments, forty kills) and `make soak`.
"""

import asyncio

from prove.crash import Loop, run_loop
from prove.environment import open_environment
from prove.process_metrics import Sample, compute_trend
from prove.soak import DESCRIPTORS_GROWTH, RSS_GROWTH, SETTINGS, run
from prove.world import World
from support.promises import case, promise

MB = 1_000_000
_AT_MOST_S = 60


@case("RL-012")
@promise("error:never-a-double-charge")
async def test_repeated_crashes_settle_each_payment_once_or_not_at_all(
    world: World,
) -> None:
    async with asyncio.timeout(_AT_MOST_S):
        outcome = await run_loop(world, Loop(seed=12, payments=30, kills=3, replicas=2))
    assert outcome.findings == [], str(outcome)
    assert outcome.settled > 0


@case("RL-044")
async def test_load_with_faults_keeps_memory_level_and_books_consistent(world: World) -> None:
    async with asyncio.timeout(_AT_MOST_S), open_environment(world, SETTINGS) as environment:
        holds, figures = await run(environment, 6.0, seed=1, every_s=0.7)
    assert holds, figures
    assert figures["faults"], "nothing went wrong"


def test_control_memory_leak_is_detected() -> None:
    level = [Sample(at, 50 * MB, 20, at) for at in range(100)]
    assert compute_trend(level).is_flat(growth=RSS_GROWTH, descriptors=DESCRIPTORS_GROWTH)
    swelling = [Sample(at, 50 * MB + at * MB // 5, 20, at) for at in range(100)]
    assert not compute_trend(swelling).is_flat(growth=RSS_GROWTH, descriptors=DESCRIPTORS_GROWTH)
    holding_on = [Sample(at, 50 * MB, 20 + at // 2, at) for at in range(100)]
    assert not compute_trend(holding_on).is_flat(growth=RSS_GROWTH, descriptors=DESCRIPTORS_GROWTH)
