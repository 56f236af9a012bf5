"""BENCH=verify: our /verify beside the npm facilitator's, on one devnet with the same payments.

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
from bench.measure import (
    Requests,
    Rounds,
    harmonic_rate,
    load,
    median_ratio,
    p50_ms,
    per_second,
)
from bench.payloads import broken_xdr_body, verify_body, wrong_amount_body, wrong_version_body
from bench.sides import OURS, PEER, THEIRS, THEIRS_FREE, Ground, calls_beyond_idle, ground
from e2e.ending import end_with_figures
from e2e.machine import say, scratch_folder
from e2e.packages import install

_WARM_S: Final = 2.0
_MAX_GENERATOR_BUSY: Final = 0.7


Refused = dict[str, dict[str, Rounds]]  # by kind, then by side


@dataclass(frozen=True, slots=True)
class Size:
    """How long a run measures."""

    rounds: int
    round_s: float
    payments: int


FULL: Final = Size(rounds=5, round_s=4.0, payments=256)
QUICK: Final = Size(rounds=2, round_s=1.5, payments=64)


@dataclass(frozen=True, slots=True)
class Verified:
    """Good payments at one latency: the rounds and the RPC calls of each side."""

    rounds: dict[str, Rounds]
    calls: dict[str, Counter[str]]
    horizon_reads: int

    def calls_per_verify(self, side: str) -> float:
        """RPC calls a verify, the clock task's apart."""
        return round(sum(self.calls[side].values()) / self.rounds[side].answers, 3)

    def figures(self) -> dict[str, object]:
        """Everything measured, by side."""
        return {
            side: rounds.figures()
            | {
                "rpc_calls_per_verify": self.calls_per_verify(side),
                "rpc_calls": dict(self.calls[side]),
            }
            for side, rounds in self.rounds.items()
        } | {"horizon_reads": self.horizon_reads}


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Whether the promised ratios hold, and the figures."""
    size = QUICK if quick else FULL
    began = time.monotonic()
    await asyncio.to_thread(install, PEER)
    cores = divide_cores()
    with scratch_folder("farebox-bench-") as scratch:
        near, refused = await _without_latency(scratch, cores, size)
        far = await _with_latency(scratch, cores, size)
    ratios = _ratios(near, far, refused)
    malformed = {kind: {side: r.figures() for side, r in s.items()} for kind, s in refused.items()}
    figures: dict[str, object] = {
        "rpc_calls_ours": near.calls_per_verify(OURS),
        "rpc_calls_theirs": near.calls_per_verify(THEIRS),
        **ratios,
        "one_core_each": cores.service is not None,
        "0ms": near.figures(),
        "50ms": far.figures(),
        "malformed": malformed,
        "seconds": round(time.monotonic() - began, 1),
    }
    every = [*near.rounds.values(), *far.rounds.values()]
    every += [rounds for sides in refused.values() for rounds in sides.values()]
    holds = (
        near.calls_per_verify(OURS) == far.calls_per_verify(OURS) == 1
        and ratios["p50_ratio_50ms"] <= 0.5
        and ratios["throughput_ratio_0ms"] >= 3
        and ratios["malformed_ratio"] >= 2.5
        and all(rounds.unexpected == 0 for rounds in every)
        and all(rounds.generator_busy < _MAX_GENERATOR_BUSY for rounds in every)
    )
    return holds, figures


def _ratios(near: Verified, far: Verified, refused: Refused) -> dict[str, float]:
    """Ours to theirs; the two with Horizon's read free are for the reader alone."""
    ratios = {"malformed_ratio": _malformed_ratio(refused)}
    for side, suffix in ((THEIRS, ""), (THEIRS_FREE, "_horizon_free")):
        ratios[f"p50_ratio_50ms{suffix}"] = median_ratio(far.rounds[OURS], far.rounds[side], p50_ms)
        ratios[f"throughput_ratio_0ms{suffix}"] = median_ratio(
            near.rounds[OURS], near.rounds[side], per_second
        )
    return ratios


def _malformed_ratio(refused: Refused) -> float:
    """How much faster an equal mix of the refused kinds is answered, round by round."""
    by_round = [
        [
            harmonic_rate([sides[side].results[turn].per_second for sides in refused.values()])
            for side in (OURS, THEIRS)
        ]
        for turn in range(min(len(sides[OURS].results) for sides in refused.values()))
    ]
    return round(median(ours / theirs for ours, theirs in by_round), 3)


async def _without_latency(scratch: Path, cores: Cores, size: Size) -> tuple[Verified, Refused]:
    async with ground(scratch, cores, latency_ms=0, payments=size.payments) as here:
        verified = await _verify_rounds(here, size, label="0 ms")
        return verified, await _refusal_rounds(here, size)


async def _with_latency(scratch: Path, cores: Cores, size: Size) -> Verified:
    async with ground(scratch, cores, latency_ms=50, payments=size.payments) as here:
        return await _verify_rounds(here, size, label="50 ms")


async def _verify_rounds(here: Ground, size: Size, *, label: str) -> Verified:
    bodies = tuple(verify_body(tx, here.terms) for tx in here.payments)
    requests = Requests("/verify", bodies, ('"isValid":true',))
    rounds = {side: Rounds() for side in here.urls}
    calls = {side: Counter[str]() for side in here.urls}
    await _warm(here, requests)
    here.horizon.reads = 0
    for turn in range(size.rounds):
        for side, url in here.urls.items():
            await here.devnet.reset_counts()
            began = time.monotonic()
            result = await load(url, requests, seconds=size.round_s)
            elapsed = time.monotonic() - began
            rounds[side].results.append(result)
            counts = await here.devnet.counts()
            calls[side] += calls_beyond_idle(counts, here.idle_calls_per_s, elapsed_s=elapsed)
            say(
                f"{label}, round {turn + 1}/{size.rounds}, {side}: {result.per_second:.0f}/s, "
                f"p50 {result.p50_ms:.2f} ms, p99 {result.p99_ms:.2f} ms"
            )
            if result.unexpected:
                say(f"unexpected: {result.first_unexpected[-300:]}")
    return Verified(rounds, calls, here.horizon.reads)


async def _refusal_rounds(here: Ground, size: Size) -> Refused:
    """Bodies that are refused without a node: broken XDR, wrong version, wrong amount."""
    kinds = {
        "broken_xdr": (broken_xdr_body, "invalid_exact_stellar_payload_malformed", None),
        "wrong_version": (
            wrong_version_body,
            "invalid_x402_version",
            "No facilitator registered for x402 version",
        ),
        "wrong_amount": (wrong_amount_body, "invalid_exact_stellar_payload_wrong_amount", None),
    }
    found: Refused = {}
    for kind, (make, reason, their_words) in kinds.items():
        bodies = tuple(make(tx, here.terms, n) for n, tx in enumerate(here.payments))
        asked = {
            OURS: Requests("/verify", bodies, (reason,)),
            THEIRS: Requests("/verify", bodies, (their_words or reason,)),
        }
        found[kind] = {side: Rounds() for side in asked}
        for turn in range(size.rounds):
            for side, requests in asked.items():
                if turn == 0:
                    await load(here.urls[side], requests, seconds=_WARM_S / 2)
                result = await load(here.urls[side], requests, seconds=size.round_s / 2)
                found[kind][side].results.append(result)
                say(f"{kind}, round {turn + 1}/{size.rounds}, {side}: {result.per_second:.0f}/s")
                if result.unexpected:
                    say(f"unexpected: {result.first_unexpected[-300:]}")
    return found


async def _warm(here: Ground, requests: Requests) -> None:
    for url in here.urls.values():
        await load(url, requests, seconds=_WARM_S)


if __name__ == "__main__":
    raise SystemExit(end_with_figures(run))
