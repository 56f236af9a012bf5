"""Many payments in flight while replicas are killed at random moments, one after the other."""

import asyncio
import random
from dataclasses import dataclass
from typing import Final

from prove.arena import opened_arena
from prove.books import opening
from prove.caller import Caller
from prove.truth import Found
from prove.verdict import judge_all
from prove.world import World

UNRESOLVED_AFTER_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Loop:
    """How many payments, how many kills, on how many replicas, by whose dice."""

    seed: int
    payments: int
    kills: int
    replicas: int

    def __str__(self) -> str:
        return (
            f"SEED={self.seed} CASE=0: {self.kills} kills, {self.payments} payments, "
            f"{self.replicas} replicas"
        )


@dataclass(frozen=True, slots=True)
class LoopOutcome:
    """What a crash loop came to."""

    case: Loop
    found: list[Found]
    answer_cut: int
    settled: int

    def __str__(self) -> str:
        why = "; ".join(f"{found.fault}: {found.why}" for found in self.found)
        return f"{self.case} -> {self.settled} settled: {why or 'as it should be'}"


def loop_of(seed: int) -> Loop:
    """The crash loop of a seed: over twenty seeds 200 payments and forty kills."""
    return Loop(seed, payments=10, kills=2, replicas=1 + seed % 2)


async def play_loop(world: World, loop: Loop) -> LoopOutcome:
    """The outcome of one crash loop."""
    dice = random.Random(f"loop {loop.seed}")
    async with opened_arena(world, {"FAREBOX_SETTLE_DEADLINE_S": "5"}) as arena:
        for number in range(loop.replicas):
            await arena.start(f"first-{number}")
        payments = [await arena.payment(turn) for turn in range(loop.payments)]
        before = await opening(arena)
        await arena.hand.hasten()
        until = asyncio.get_running_loop().time() + UNRESOLVED_AFTER_S
        callers = [Caller(arena, payment) for payment in payments]
        insisting = [asyncio.create_task(caller.insist(until=until)) for caller in callers]
        for number in range(loop.kills):
            await asyncio.sleep(dice.uniform(0.02, 0.8))
            await dice.choice(arena.alive).kill()
            await arena.start(f"next-{number}")
        await asyncio.gather(*insisting)
        verdict = await judge_all(arena, callers, before, until=until)
        return LoopOutcome(loop, verdict.found, verdict.answer_cut, verdict.settled)
