"""Many payments in flight while replicas are killed at random moments, one after the other."""

import asyncio
import random
from dataclasses import dataclass, replace
from typing import Final

from prove.arena import Arena, opened_arena
from prove.books import audit, opening
from prove.caller import Caller
from prove.truth import (
    Found,
    grouped,
    is_answer_cut,
    judge,
    read_ledger,
    read_row,
    settled_down,
)
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
        are_down = [await settled_down(arena, payment, until=until) for payment in payments]
        outcome = await _outcome(arena, loop, callers, are_down)
        return replace(outcome, found=outcome.found + await audit(arena, before))


async def _outcome(
    arena: Arena, loop: Loop, callers: list[Caller], are_down: list[bool]
) -> LoopOutcome:
    included = await read_ledger(arena)
    found: list[Found] = []
    by_payment = grouped(included)
    cut = confirmed = 0
    for caller, is_down in zip(callers, are_down, strict=True):
        own = by_payment[caller.payment.payer, caller.payment.nonce]
        row = await read_row(arena, caller.payment)
        found += judge(own, row, caller.answers, is_settled_down=is_down)
        cut += is_answer_cut(row, caller.answers)
        confirmed += row is not None and row.state == "confirmed"
    return LoopOutcome(loop, found, cut, confirmed)
