"""Run one case: many buyers at once at two replicas of a wrapper with small limits, and a kill."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from farebox.gateway.wrapper import WrapperLimits
from farebox.local.certificates import Authority
from prove.delivery_case import SLUG, open_gateway
from prove.delivery_shop import GatewayBuyer
from prove.delivery_upstream import ScriptedUpstream, UpstreamFault
from prove.environment import Environment
from prove.interceptor import CrashPoint, CrashTiming
from prove.payment_check import read_ledger
from prove.world import World

BUYERS: Final = 10
_CALLS: Final = 180  # of a replica in a case; the kill is at one of them
_REPEATS_S: Final = 8.0
_SETTLED_WITHIN_S: Final = 60.0
_LOOK_S: Final = 0.2
_UNSURE: Final = (0, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class LimitsCase:
    """The limits of a wrapper, and the faults; `seed` and `number` identify it for a replay."""

    seed: int
    number: int
    per_minute: int
    per_month: int
    at_once: int
    killed_at: int | None  # the call of one replica; None for a case without a kill
    refused: int  # simulations that the node does not answer

    def __str__(self) -> str:
        kill = "no kill" if self.killed_at is None else f"a kill at call {self.killed_at}"
        return (
            f"SEED={self.seed} CASE={self.number}: {self.per_minute} a minute, {self.per_month} a "
            f"month, {self.at_once} at once; {kill}, {self.refused} simulations unanswered"
        )


@dataclass(frozen=True, slots=True)
class LimitsOutcome:
    """The result of a case."""

    case: LimitsCase
    landed: int
    answers: dict[int, int]
    landed_beyond: int
    counters_off: list[str] = field(default_factory=list)

    @property
    def is_failed(self) -> bool:
        """Whether a limit or a counter did not hold."""
        return bool(self.landed_beyond or self.counters_off)

    def __str__(self) -> str:
        return (
            f"{self.case} -> {self.landed} landed, {self.landed_beyond} beyond, answers "
            f"{self.answers}; {'; '.join(self.counters_off) or 'counters agree'}"
        )


def draw_cases(seed: int, count: int) -> list[LimitsCase]:
    """Draw the cases of a seed."""
    return [_draw_case(seed, number) for number in range(1, count + 1)]


def _draw_case(seed: int, number: int) -> LimitsCase:
    rng = random.Random(f"limits {seed} {number}")
    return LimitsCase(
        seed,
        number,
        per_minute=rng.randint(1, BUYERS + 2),
        per_month=rng.randint(1, BUYERS + 2),
        at_once=rng.randint(1, BUYERS + 2),
        killed_at=rng.randint(1, _CALLS) if rng.random() < 0.7 else None,
        refused=rng.choice((0, 0, 1, 3)),
    )


async def run_case(world: World, authority: Authority, case: LimitsCase) -> LimitsOutcome:
    """Run one case."""
    loop = asyncio.get_running_loop()
    upstream = ScriptedUpstream([UpstreamFault.STATUS] * (case.number % 2), takes_s=0.2)
    limits = WrapperLimits(
        requests_per_minute=case.per_minute,
        monthly_requests=case.per_month,
        concurrent_requests=case.at_once,
        timeout_s=2,
    )
    async with open_gateway(world, authority, upstream, limits=limits) as environment:
        replicas = [await environment.start(name) for name in ("a", "b")]
        if case.killed_at is not None:
            crash = CrashPoint(case.killed_at, CrashTiming.AFTER, environment.kill)
            replicas[case.seed % 2].interceptor.crash_point = crash
        for replica in replicas:
            replica.interceptor.start_counting()
        buyers = [
            GatewayBuyer(environment, await environment.payment(number), SLUG, "GET")
            for number in range(BUYERS)
        ]
        if case.refused:
            unanswered = {"methods": ("simulateTransaction",), "count": case.refused}
            await environment.devnet.fault({"kind": "http", "status": 503}, **unanswered)
        await asyncio.gather(
            *(buyer.ask(replicas[number % 2]) for number, buyer in enumerate(buyers))
        )
        await environment.devnet.clear_faults()
        await environment.ledger_closer.speed_up()
        if not environment.alive:
            await environment.start("c")
        until = loop.time() + _REPEATS_S
        await asyncio.gather(
            *(
                buyer.repeat_until_final(until=until)
                for buyer in buyers
                if buyer.answers[-1].status in _UNSURE
            )
        )
        await _wait_until_settled(environment, until=loop.time() + _SETTLED_WITHIN_S)
        return await _judge(environment, case, buyers, upstream)


async def _wait_until_settled(environment: Environment, *, until: float) -> None:
    """Wait until no reservation and no attempt is open."""
    while asyncio.get_running_loop().time() < until:
        rows = await environment.query(
            "SELECT 1 FROM gateway_payments WHERE state = 'reserved' OR attempt_until IS NOT NULL"
        )
        settlements = await environment.query("SELECT 1 FROM settlements WHERE finished_at IS NULL")
        if not rows and not settlements:
            return
        await asyncio.sleep(_LOOK_S)


async def _judge(
    environment: Environment,
    case: LimitsCase,
    buyers: Sequence[GatewayBuyer],
    upstream: ScriptedUpstream,
) -> LimitsOutcome:
    """Compare the limits with the ledger, and the counters with the rows."""
    landed = [each for each in await read_ledger(environment) if each.is_success]
    rows = await environment.query("SELECT minute, month, tx_hash FROM gateway_payments")
    minutes = Counter(row["minute"] for row in rows)
    beyond = max(0, len(landed) - case.per_month)
    beyond += sum(max(0, count - case.per_minute) for count in minutes.values())
    beyond += max(0, upstream.at_once_max - case.at_once)
    off = [] if len(rows) == len(landed) else [f"{len(landed)} landed, and {len(rows)} are counted"]
    counters = await environment.query("SELECT * FROM wrapper_counters")
    for counter in counters:
        in_minute, in_month = minutes[counter["minute"]], len(rows)
        if counter["in_progress"]:
            off.append(f"{counter['in_progress']} are in progress")
        if counter["minute_count"] != in_minute:
            off.append(f"{counter['minute_count']} in the minute, and {in_minute} rows")
        if counter["month_count"] != in_month:
            off.append(f"{counter['month_count']} in the month, and {in_month} rows")
    answers = Counter(buyer.answers[-1].status for buyer in buyers)
    return LimitsOutcome(case, len(landed), dict(answers), beyond, off)
