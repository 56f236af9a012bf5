"""BENCH=contention: settlements with and without slow traffic of other kinds, in one run.

The other traffic is 1,400 requests a minute from four addresses: verifications whose simulations
take three seconds, searches and challenges whose tables are locked for three seconds at a time.
Settlements' own simulations are quick in the first rows, as those of ordinary payers
are, and as slow as the others in the last pair, which has a row without traffic of its own.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import msgspec
from stellar_sdk import Keypair

from bench.contention_flood import (
    PER_MINUTE,
    Answers,
    RequestTemplate,
    SlowSimulations,
    flood,
    slow_tables,
)
from bench.cores import divide_cores
from bench.payloads import NETWORK
from bench.settle_drive import Load, new_payments, sustained
from bench.settle_payments import Payment
from bench.settle_run import Run
from bench.settle_setup import CADENCE_S, MeasuredFacilitator, SettleSetup, open_settle_setup
from testing.machine import say, scratch_folder
from testing.report import limited, run_and_report, timed

_CHANNELS: Final = 19
_MOST_RATIO: Final = 1.5
_FULL_RATE: Final = 0.95 * PER_MINUTE
_AT_MOST_S: Final = 900.0
_SETTINGS: Final = {
    "FAREBOX_TRUSTED_PROXIES": "127.0.0.1",  # so that the traffic comes from several addresses
    "FAREBOX_CHALLENGES_PER_MINUTE": "0",
}


@dataclass(frozen=True, slots=True)
class Size:
    """The ledgers of the warm-up and of the measurement."""

    warm: int
    measured: int


FULL: Final = Size(warm=1, measured=10)
QUICK: Final = Size(warm=1, measured=3)


@dataclass(frozen=True, slots=True)
class Row:
    """Settlements with one kind of other traffic, and the baseline without it."""

    run: Run
    without: Run
    answers: Answers

    @property
    def ratio(self) -> float:
        """The p95 latency of the settlements, relative to the baseline."""
        without_s = self.without.latency_s(0.95)
        return round(self.run.latency_s(0.95) / without_s, 3) if without_s else 0.0

    @property
    def holds(self) -> bool:
        """Whether settlements were not slowed down by the full traffic."""
        is_well = self.run.failed == self.without.failed == 0 and 0 < self.ratio <= _MOST_RATIO
        return is_well and self.answers.per_minute >= _FULL_RATE

    def figures(self) -> dict[str, object]:
        """Return the figures, rounded for a reader."""
        return {
            "settle_p95_ratio": self.ratio,
            "settles_failed": self.run.failed,
            "settlements": self.run.figures(),
            "traffic": self.answers.figures(),
        }


@dataclass(frozen=True, slots=True)
class Bench:
    """One service under measurement."""

    setup: SettleSetup
    side: MeasuredFacilitator
    size: Size

    async def settle(self) -> Run:
        """Settle with one caller for each channel, each payment after the last."""
        loads = [Load(self.side, _CHANNELS)]
        size = self.size
        runs = await sustained(self.setup, loads, warm=size.warm, ledgers=size.measured)
        return runs[0]

    async def settle_with_traffic(
        self,
        name: str,
        template: RequestTemplate,
        slow: AbstractAsyncContextManager[object],
        *,
        without: Run,
    ) -> Row:
        """Settle during slow traffic that starts one ledger earlier."""
        say(f"{name}: {PER_MINUTE} requests a minute")
        async with slow, flood(self.side.url, template) as answers:
            await asyncio.sleep(CADENCE_S)
            run = await self.settle()
        row = Row(run, without, answers)
        say(f"{name}: p95 {row.ratio} times the baseline, {run.failed} failed; {answers.figures()}")
        return row

    @asynccontextmanager
    async def slow_node(self, marks: frozenset[bytes] | None) -> AsyncIterator[None]:
        """Delay simulations that contain one of the marks; None: all."""
        relay = self.side.relay
        before, relay.delay_of = relay.delay_of, SlowSimulations(marks).delay_s
        try:
            yield
        finally:
            relay.delay_of = before


@timed
@limited(_AT_MOST_S)
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether settlements are not slowed down, and the figures."""
    runs, rows = await _measure(QUICK if quick else FULL)
    all_runs = [*runs.values(), *(row.run for row in rows.values())]
    figures: dict[str, object] = {
        "settles_failed": sum(each.failed for each in all_runs),
        "settle_p95_ratio": max(row.ratio for row in rows.values()),
        "settle_p95_ratios": {name: row.ratio for name, row in rows.items()},
        "settlements": sum(len(each.answers) for each in all_runs),
        "without": {name: each.figures() for name, each in runs.items()},
        "beside": {name: row.figures() for name, row in rows.items()},
    }
    return all(row.holds for row in rows.values()), figures


async def _measure(size: Size) -> tuple[dict[str, Run], dict[str, Row]]:
    """Measure the baselines and the rows with other traffic."""
    cores = divide_cores()
    settings = _SETTINGS | {"FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret}
    async with AsyncExitStack() as stack:
        scratch = stack.enter_context(scratch_folder("farebox-bench-"))
        setup = await stack.enter_async_context(open_settle_setup(scratch, cores, payers=_CHANNELS))
        await setup.create_channels(_CHANNELS)
        side = await stack.enter_async_context(setup.start_farebox("farebox", settings))
        bench = Bench(setup, side, size)
        [slow_payment] = await new_payments(setup, 1)
        verify = RequestTemplate("/verify", slow_payment.body)
        search = RequestTemplate("/discovery/search?query=weather+forecast+for+a+city")
        challenge = RequestTemplate("/v1/auth/challenge", _challenge())
        quick = await bench.settle()
        rows = {
            "verify": await bench.settle_with_traffic(
                "verify", verify, bench.slow_node(_marks(slow_payment)), without=quick
            ),
            "search": await bench.settle_with_traffic(
                "search", search, slow_tables(setup.database, ("search_documents",)), without=quick
            ),
            "sign_in": await bench.settle_with_traffic(
                "sign_in", challenge, slow_tables(setup.database, ("challenges",)), without=quick
            ),
        }
        async with bench.slow_node(None):
            slow = await bench.settle()
        rows["verify_all_slow"] = await bench.settle_with_traffic(
            "verify_all_slow", verify, bench.slow_node(None), without=slow
        )
        return {"quick_simulations": quick, "slow_simulations": slow}, rows


def _marks(payment: Payment) -> frozenset[bytes]:
    """Return the bytes that identify the payment in its envelope: the nonce."""
    _, nonce = payment.identity
    return frozenset({nonce.to_bytes(8, "big", signed=True)})


def _challenge() -> bytes:
    return msgspec.json.encode({"network": NETWORK, "address": Keypair.random().public_key})


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
