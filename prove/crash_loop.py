"""Run many payments while replicas are killed at random moments."""

import asyncio
import random
from dataclasses import dataclass
from typing import Final

from prove.accounting import judge_all, read_balances
from prove.caller import Caller
from prove.environment import open_environment
from prove.outcome import Outcome
from prove.payment_check import SettlementViolation
from prove.world import World

UNRESOLVED_AFTER_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Loop:
    """The size and the seed of a crash loop."""

    seed: int
    payments: int
    kills: int
    replicas: int

    @property
    def number(self) -> int:
        """The number of the loop of every seed."""
        return 0

    def __str__(self) -> str:
        return (
            f"SEED={self.seed} CASE={self.number}: {self.kills} kills, {self.payments} payments, "
            f"{self.replicas} replicas"
        )


@dataclass(frozen=True, kw_only=True)
class LoopOutcome(Outcome[Loop, SettlementViolation]):
    """The outcome of a crash loop."""

    answer_cut: int = 0
    settled: int = 0

    def __str__(self) -> str:
        return f"{self.case} -> {self.settled} settled: {self.why}"


def loop_of(seed: int) -> Loop:
    """Plan the crash loop of a seed; twenty seeds make 200 payments and 40 kills."""
    return Loop(seed, payments=10, kills=2, replicas=1 + seed % 2)


async def run_loop(world: World, loop: Loop) -> LoopOutcome:
    """Run one crash loop."""
    rng = random.Random(f"loop {loop.seed}")
    async with open_environment(world, {"FAREBOX_SETTLE_DEADLINE_S": "5"}) as environment:
        for number in range(loop.replicas):
            await environment.start(f"first-{number}")
        payments = [await environment.payment(turn) for turn in range(loop.payments)]
        before = await read_balances(environment)
        await environment.ledger_closer.speed_up()
        until = asyncio.get_running_loop().time() + UNRESOLVED_AFTER_S
        callers = [Caller(environment, payment) for payment in payments]
        requests = [
            asyncio.create_task(caller.repeat_until_final(until=until)) for caller in callers
        ]
        for number in range(loop.kills):
            await asyncio.sleep(rng.uniform(0.02, 0.8))
            await rng.choice(environment.alive).kill()
            await environment.start(f"next-{number}")
        await asyncio.gather(*requests)
        verdict = await judge_all(environment, callers, before, until=until)
        return LoopOutcome(
            case=loop,
            findings=verdict.findings,
            answer_cut=verdict.answer_cut,
            settled=verdict.settled,
            connections_max=environment.connections_max,
        )
