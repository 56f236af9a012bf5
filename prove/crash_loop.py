"""Run many payments while replicas are killed at random moments."""

import asyncio
import random
from dataclasses import dataclass
from typing import Final

from prove.accounting import read_balances
from prove.caller import Caller
from prove.environment import open_environment
from prove.payment_check import SettlementFinding
from prove.verdict import judge_all
from prove.world import World

UNRESOLVED_AFTER_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Loop:
    """The size and the seed of a crash loop."""

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
    """The outcome of a crash loop."""

    case: Loop
    findings: list[SettlementFinding]
    answer_cut: int
    settled: int
    connections_max: int = 0

    def __str__(self) -> str:
        why = "; ".join(f"{each.violation}: {each.why}" for each in self.findings)
        return f"{self.case} -> {self.settled} settled: {why or 'no violation'}"


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
        findings, cut, settled = verdict.findings, verdict.answer_cut, verdict.settled
        return LoopOutcome(loop, findings, cut, settled, environment.connections_max)
