"""BENCH=verify: our /verify and the npm facilitator's, on one devnet with the same payments.

One process and one core each, eight requests in flight, rounds in turn, medians of the rounds; at
no added latency and with 50 ms added to every answer of the node and of the Horizon stub.
"""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.cores import Cores, divide_cores
from bench.facilitators import (
    OURS,
    PEER,
    THEIRS,
    THEIRS_FREE,
    VerifySetup,
    calls_beyond_idle,
    open_verify_setup,
)
from bench.measure import (
    Requests,
    Rounds,
    harmonic_rate,
    load,
    median_ratio,
    p50_ms,
    per_second,
    say_result,
)
from bench.payloads import broken_xdr_body, verify_body, wrong_amount_body, wrong_version_body
from testing.machine import say, scratch_folder
from testing.packages import install
from testing.report import run_and_report, timed

_WARM_S: Final = 2.0
_MAX_GENERATOR_BUSY: Final = 0.7


RefusalRounds = dict[str, dict[str, Rounds]]  # by kind, then by side


@dataclass(frozen=True, slots=True)
class Size:
    """The rounds and payments of a run."""

    rounds: int
    round_s: float
    payments: int


FULL: Final = Size(rounds=5, round_s=4.0, payments=256)
QUICK: Final = Size(rounds=2, round_s=1.5, payments=64)


@dataclass(frozen=True, slots=True)
class VerifyMeasurement:
    """Valid payments at one latency: the rounds and the RPC calls of each side."""

    rounds: dict[str, Rounds]
    calls: dict[str, Counter[str]]
    horizon_reads: int

    def calls_per_verify(self, side: str) -> float:
        """Return the RPC calls for each verification, without the clock task's."""
        return round(sum(self.calls[side].values()) / self.rounds[side].answers, 3)

    def figures(self) -> dict[str, object]:
        """Return all figures by side."""
        return {
            side: rounds.figures()
            | {
                "rpc_calls_per_verify": self.calls_per_verify(side),
                "rpc_calls": dict(self.calls[side]),
            }
            for side, rounds in self.rounds.items()
        } | {"horizon_reads": self.horizon_reads}


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether the promised ratios hold, and the figures."""
    size = QUICK if quick else FULL
    await asyncio.to_thread(install, PEER)
    cores = divide_cores()
    with scratch_folder("farebox-bench-") as scratch:
        no_latency, refusals = await _without_latency(scratch, cores, size)
        with_latency = await _with_latency(scratch, cores, size)
    ratios = _ratios(no_latency, with_latency, refusals)
    malformed = {kind: {side: r.figures() for side, r in s.items()} for kind, s in refusals.items()}
    figures: dict[str, object] = {
        "rpc_calls_ours": no_latency.calls_per_verify(OURS),
        "rpc_calls_theirs": no_latency.calls_per_verify(THEIRS),
        **ratios,
        "one_core_each": cores.service is not None,
        "0ms": no_latency.figures(),
        "50ms": with_latency.figures(),
        "malformed": malformed,
    }
    all_rounds = [*no_latency.rounds.values(), *with_latency.rounds.values()]
    all_rounds += [rounds for sides in refusals.values() for rounds in sides.values()]
    holds = (
        no_latency.calls_per_verify(OURS) == with_latency.calls_per_verify(OURS) == 1
        and ratios["p50_ratio_50ms"] <= 0.5
        and ratios["throughput_ratio_0ms"] >= 3
        and ratios["malformed_ratio"] >= 2.5
        and all(rounds.unexpected == 0 for rounds in all_rounds)
        and all(rounds.generator_busy < _MAX_GENERATOR_BUSY for rounds in all_rounds)
    )
    return holds, figures


def _ratios(
    no_latency: VerifyMeasurement, with_latency: VerifyMeasurement, refusals: RefusalRounds
) -> dict[str, float]:
    """Compute the ratios of ours to theirs; those with free Horizon reads are informative."""
    ratios = {"malformed_ratio": _malformed_ratio(refusals)}
    for side, suffix in ((THEIRS, ""), (THEIRS_FREE, "_horizon_free")):
        ratios[f"p50_ratio_50ms{suffix}"] = median_ratio(
            with_latency.rounds[OURS], with_latency.rounds[side], p50_ms
        )
        ratios[f"throughput_ratio_0ms{suffix}"] = median_ratio(
            no_latency.rounds[OURS], no_latency.rounds[side], per_second
        )
    return ratios


def _malformed_ratio(refusals: RefusalRounds) -> float:
    """Compute the throughput ratio of an equal mix of refused requests, round by round."""
    by_round = [
        [
            harmonic_rate([sides[side].results[turn].per_second for sides in refusals.values()])
            for side in (OURS, THEIRS)
        ]
        for turn in range(min(len(sides[OURS].results) for sides in refusals.values()))
    ]
    return round(median(ours / theirs for ours, theirs in by_round), 3)


async def _without_latency(
    scratch: Path, cores: Cores, size: Size
) -> tuple[VerifyMeasurement, RefusalRounds]:
    async with open_verify_setup(scratch, cores, latency_ms=0, payments=size.payments) as setup:
        verified = await _verify_rounds(setup, size, label="0 ms")
        return verified, await _refusal_rounds(setup, size)


async def _with_latency(scratch: Path, cores: Cores, size: Size) -> VerifyMeasurement:
    async with open_verify_setup(scratch, cores, latency_ms=50, payments=size.payments) as setup:
        return await _verify_rounds(setup, size, label="50 ms")


async def _verify_rounds(setup: VerifySetup, size: Size, *, label: str) -> VerifyMeasurement:
    bodies = tuple(verify_body(tx, setup.terms) for tx in setup.payments)
    requests = Requests("/verify", bodies, ('"isValid":true',))
    rounds = {side: Rounds() for side in setup.urls}
    calls = {side: Counter[str]() for side in setup.urls}
    await _warm_up(setup, requests)
    setup.horizon.reads = 0
    for turn in range(size.rounds):
        for side, url in setup.urls.items():
            await setup.devnet.reset_counts()
            began = time.monotonic()
            result = await load(url, requests, seconds=size.round_s)
            elapsed = time.monotonic() - began
            rounds[side].results.append(result)
            counts = await setup.devnet.counts()
            calls[side] += calls_beyond_idle(counts, setup.idle_calls_per_s, elapsed_s=elapsed)
            say_result(f"{label}, round {turn + 1}/{size.rounds}, {side}", result)
    return VerifyMeasurement(rounds, calls, setup.horizon.reads)


async def _refusal_rounds(setup: VerifySetup, size: Size) -> RefusalRounds:
    """Measure requests that are refused without a node: broken XDR, wrong version or amount."""
    kinds = {
        "broken_xdr": (broken_xdr_body, "invalid_exact_stellar_payload_malformed", None),
        "wrong_version": (
            wrong_version_body,
            "invalid_x402_version",
            "No facilitator registered for x402 version",
        ),
        "wrong_amount": (wrong_amount_body, "invalid_exact_stellar_payload_wrong_amount", None),
    }
    rounds_by_kind: RefusalRounds = {}
    for kind, (make, reason, their_reason) in kinds.items():
        bodies = tuple(make(tx, setup.terms, n) for n, tx in enumerate(setup.payments))
        requests_by_side = {
            OURS: Requests("/verify", bodies, (reason,)),
            THEIRS: Requests("/verify", bodies, (their_reason or reason,)),
        }
        rounds_by_kind[kind] = {side: Rounds() for side in requests_by_side}
        for turn in range(size.rounds):
            for side, requests in requests_by_side.items():
                if turn == 0:
                    await load(setup.urls[side], requests, seconds=_WARM_S / 2)
                result = await load(setup.urls[side], requests, seconds=size.round_s / 2)
                rounds_by_kind[kind][side].results.append(result)
                say(f"{kind}, round {turn + 1}/{size.rounds}, {side}: {result.per_second:.0f}/s")
                if result.unexpected:
                    say(f"unexpected: {result.first_unexpected[-300:]}")
    return rounds_by_kind


async def _warm_up(setup: VerifySetup, requests: Requests) -> None:
    for url in setup.urls.values():
        await load(url, requests, seconds=_WARM_S)


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
