"""BENCH=contention: settlements with and without slow traffic of other kinds, in one run.

Beside the settlements come 1,400 requests a minute from four addresses: verifications whose
simulations take three seconds, searches and challenges whose tables are locked for three seconds
at a time. Settlements' own simulations are quick in the first rows, as those of ordinary payers
are, and as slow as the others in the last pair, which has a row without traffic of its own.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import msgspec
from stellar_sdk import Keypair

from bench.contention_flood import (
    PER_MINUTE,
    Answers,
    Ask,
    SlowSimulations,
    flood,
    slow_tables,
)
from bench.cores import divide_cores
from bench.payloads import NETWORK
from bench.settle_drive import Load, new_payments, sustained
from bench.settle_ground import CADENCE_S, Ground, Side, ground
from bench.settle_payments import Payment
from bench.settle_run import Run
from e2e.ending import end_with_figures
from e2e.machine import RunFailed, say, scratch_folder

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
    """Ledgers that are measured after those that warm up."""

    warm: int
    measured: int


FULL: Final = Size(warm=1, measured=10)
QUICK: Final = Size(warm=1, measured=3)


@dataclass(frozen=True, slots=True)
class Row:
    """Settlements beside one kind of traffic, and those without it that they are compared with."""

    run: Run
    without: Run
    answers: Answers

    @property
    def ratio(self) -> float:
        """p95 of the settlements, to the same without the traffic."""
        without_s = self.without.latency_s(0.95)
        return round(self.run.latency_s(0.95) / without_s, 3) if without_s else 0.0

    @property
    def holds(self) -> bool:
        """Whether settlements went on as before, beside as much traffic as there should be."""
        is_well = self.run.failed == self.without.failed == 0 and 0 < self.ratio <= _MOST_RATIO
        return is_well and self.answers.per_minute >= _FULL_RATE

    def figures(self) -> dict[str, object]:
        """For a reader."""
        return {
            "settle_p95_ratio": self.ratio,
            "settles_failed": self.run.failed,
            "settlements": self.run.figures(),
            "traffic": self.answers.figures(),
        }


@dataclass(frozen=True, slots=True)
class Bench:
    """One service under measurement."""

    ground: Ground
    side: Side
    size: Size

    async def settle(self) -> Run:
        """Settlements by as many callers as there are channels, one after the other."""
        loads = [Load(self.side, _CHANNELS)]
        size = self.size
        runs = await sustained(self.ground, loads, warm=size.warm, ledgers=size.measured)
        return runs[0]

    async def beside(
        self, name: str, ask: Ask, slow: AbstractAsyncContextManager[object], *, without: Run
    ) -> Row:
        """The same while there is traffic and it is slow, from a ledger before on."""
        say(f"{name}: {PER_MINUTE} requests a minute")
        async with slow, flood(self.side.url, ask) as answers:
            await asyncio.sleep(CADENCE_S)
            run = await self.settle()
        row = Row(run, without, answers)
        say(f"{name}: p95 {row.ratio} times as long, {run.failed} failed; {answers.figures()}")
        return row

    @asynccontextmanager
    async def slow_node(self, marks: frozenset[bytes] | None) -> AsyncIterator[None]:
        """The node takes seconds for simulations with one of the marks; None: for all."""
        tap = self.side.tap
        before, tap.delay_of = tap.delay_of, SlowSimulations(marks).delay_s
        try:
            yield
        finally:
            tap.delay_of = before


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Whether settlements go on as before, and the figures."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(_AT_MOST_S):
            runs, rows = await _measured(QUICK if quick else FULL)
    except TimeoutError as error:
        raise RunFailed(f"the bench took more than {_AT_MOST_S:g} s") from error
    every = [*runs.values(), *(row.run for row in rows.values())]
    figures: dict[str, object] = {
        "settles_failed": sum(each.failed for each in every),
        "settle_p95_ratio": max(row.ratio for row in rows.values()),
        "settle_p95_ratios": {name: row.ratio for name, row in rows.items()},
        "settlements": sum(len(each.answers) for each in every),
        "without": {name: each.figures() for name, each in runs.items()},
        "beside": {name: row.figures() for name, row in rows.items()},
        "seconds": round(time.monotonic() - began, 1),
    }
    return all(row.holds for row in rows.values()), figures


async def _measured(size: Size) -> tuple[dict[str, Run], dict[str, Row]]:
    """The runs without traffic, and those beside it."""
    cores = divide_cores()
    settings = _SETTINGS | {"FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret}
    async with AsyncExitStack() as stack:
        scratch = stack.enter_context(scratch_folder("farebox-bench-"))
        here = await stack.enter_async_context(ground(scratch, cores, payers=_CHANNELS))
        await here.create_channels(_CHANNELS)
        side = await stack.enter_async_context(here.ours("farebox", settings))
        bench = Bench(here, side, size)
        [pest] = await new_payments(here, 1)
        verify = Ask("/verify", pest.body)
        search = Ask("/discovery/search?query=weather+forecast+for+a+city")
        challenge = Ask("/v1/auth/challenge", _challenge())
        quick = await bench.settle()
        rows = {
            "verify": await bench.beside(
                "verify", verify, bench.slow_node(_marks(pest)), without=quick
            ),
            "search": await bench.beside(
                "search", search, slow_tables(here.database, ("search_documents",)), without=quick
            ),
            "sign_in": await bench.beside(
                "sign_in", challenge, slow_tables(here.database, ("challenges",)), without=quick
            ),
        }
        async with bench.slow_node(None):
            slow = await bench.settle()
        rows["verify_all_slow"] = await bench.beside(
            "verify_all_slow", verify, bench.slow_node(None), without=slow
        )
        return {"quick_simulations": quick, "slow_simulations": slow}, rows


def _marks(payment: Payment) -> frozenset[bytes]:
    """What only this payment's envelope holds: its nonce."""
    _, nonce = payment.identity
    return frozenset({nonce.to_bytes(8, "big", signed=True)})


def _challenge() -> bytes:
    return msgspec.json.encode({"network": NETWORK, "address": Keypair.random().public_key})


if __name__ == "__main__":
    raise SystemExit(end_with_figures(run))
