"""BENCH=auth: the cost of authentication: one route with a key and without, on one service.

The request is a no-op: a payment that is refused before any RPC call. One process on a core of
its own, rounds in turn, medians of the rounds; once without rate limits, which is judged, and once
with every request of both sides counted against a limit that none reaches, for information.
"""

import contextlib
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import aiohttp

from bench.cores import Cores, divide_cores
from bench.measure import Requests, Rounds, load, per_second
from bench.payloads import Terms, broken_xdr_body
from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet, DevnetOptions, Scene, start_devnet
from farebox.local.gateway_settings import operator_setting
from testing.machine import RunFailed, ServedNetwork, our_service, say, scratch_folder, subfolder
from testing.report import run_and_report, timed

MOST_MS: Final = 1.0
_WARM_S: Final = 1.0
_CROWD: Final = 8
_NO_KEY: Final = "without"
_KEY: Final = "with a key"
_REFUSAL: Final = "invalid_exact_stellar_payload_malformed"
_FREE: Final = {"FAREBOX_RATE_PER_ADDRESS": "0", "FAREBOX_RATE_PER_KEY": "0"}
_COUNTED: Final = {"FAREBOX_RATE_PER_ADDRESS": "1000000", "FAREBOX_RATE_PER_KEY": "1000000"}
_KINDS: Final = {"free": _FREE, "counted": _COUNTED}


@dataclass(frozen=True, slots=True)
class Size:
    """The rounds of a run."""

    rounds: int
    round_s: float


FULL: Final = Size(rounds=7, round_s=3.0)
QUICK: Final = Size(rounds=3, round_s=1.0)


@dataclass(frozen=True, slots=True)
class AuthMeasurement:
    """The rounds of both sides: sequential and concurrent requests."""

    alone: dict[str, Rounds] = field(default_factory=lambda: {_NO_KEY: Rounds(), _KEY: Rounds()})
    crowd: dict[str, Rounds] = field(default_factory=lambda: {_NO_KEY: Rounds(), _KEY: Rounds()})

    @property
    def overhead_ms_p50(self) -> float:
        """The median added latency of requests with a key, sequentially."""
        pairs = zip(self.alone[_KEY].results, self.alone[_NO_KEY].results, strict=True)
        return round(median(mine.p50_ms - other.p50_ms for mine, other in pairs), 3)

    @property
    def rounds(self) -> list[Rounds]:
        """All rounds."""
        return [*self.alone.values(), *self.crowd.values()]

    def figures(self) -> dict[str, object]:
        """Everything measured, rounded for a reader."""
        pairs = zip(self.crowd[_KEY].results, self.crowd[_NO_KEY].results, strict=True)
        ratio = median(per_second(mine) / per_second(other) for mine, other in pairs)
        return {
            "overhead_ms_p50": self.overhead_ms_p50,
            "throughput_ratio": round(ratio, 3),
            "one_at_a_time": {side: rounds.figures() for side, rounds in self.alone.items()},
            f"{_CROWD}_at_once": {side: rounds.figures() for side, rounds in self.crowd.items()},
        }


@timed
async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the bench; return whether a key adds a millisecond at most to the median, and figures."""
    size = QUICK if quick else FULL
    cores = divide_cores()
    by_kind: dict[str, AuthMeasurement] = {}
    with scratch_folder("farebox-bench-") as scratch:
        options = DevnetOptions(passphrase=Network.TESTNET.passphrase, log=scratch / "devnet.log")
        async with await start_devnet(options, progress=say) as devnet:
            scene = await devnet.scene(payers=1, payees=1)
            for kind, limits in _KINDS.items():
                folder = subfolder(scratch, kind)
                async with _open_sides(devnet, scene, folder, cores, limits) as (url, sides):
                    by_kind[kind] = await _measure(url, sides, size, kind)
    free, counted = by_kind["free"], by_kind["counted"]
    crowd = free.crowd[_KEY]
    figures: dict[str, object] = {
        "overhead_ms_p50": free.overhead_ms_p50,
        "counted_overhead_ms_p50": counted.overhead_ms_p50,
        "per_second": round(crowd.per_second, 1),
        "p99_ms": round(crowd.p99_ms, 3),
        "per_second_without": round(free.crowd[_NO_KEY].per_second, 1),
        "p99_ms_without": round(free.crowd[_NO_KEY].p99_ms, 3),
        "one_core_each": cores.service is not None,
        **{kind: measurement.figures() for kind, measurement in by_kind.items()},
    }
    as_expected = all(
        r.unexpected == 0 for measurement in by_kind.values() for r in measurement.rounds
    )
    return free.overhead_ms_p50 <= MOST_MS and as_expected, figures


@contextlib.asynccontextmanager
async def _open_sides(
    devnet: Devnet, scene: Scene, folder: Path, cores: Cores, limits: Mapping[str, str]
) -> AsyncIterator[tuple[str, dict[str, Requests]]]:
    """Start a service; yield its URL and the requests of each side."""
    served = ServedNetwork(Network.TESTNET, devnet, scene.payers[0].secret)
    operator = secrets.token_urlsafe(32)
    own = {**limits, **operator_setting(operator)}
    terms = Terms(scene.asset, scene.payees[0].address, 10_000, 60)
    bodies = tuple(broken_xdr_body("AAAA" * 64, terms, turn) for turn in range(8))
    prefix = cores.pin_service()
    async with our_service([served], folder=folder, prefix=prefix, settings=own) as url:
        headers = {"Authorization": f"Bearer {await _personal_key(url, operator)}"}
        yield (
            url,
            {
                _NO_KEY: Requests("/verify", bodies, (_REFUSAL,)),
                _KEY: Requests("/verify", bodies, (_REFUSAL,), headers),
            },
        )


async def _personal_key(url: str, operator: str) -> str:
    body = {"name": "bench", "scopes": ["facilitator"]}
    headers = {"Authorization": f"Bearer {operator}"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/api-keys", json=body, headers=headers) as answer,
    ):
        if answer.status != 201:
            raise RunFailed(f"no key could be created: {answer.status} {await answer.text()}")
        return str((await answer.json())["key"])


async def _measure(
    url: str, sides: Mapping[str, Requests], size: Size, kind: str
) -> AuthMeasurement:
    measurement = AuthMeasurement()
    for requests in sides.values():
        await load(url, requests, seconds=_WARM_S)
    for turn in range(size.rounds):
        for in_flight, rounds in ((1, measurement.alone), (_CROWD, measurement.crowd)):
            for side, requests in sides.items():
                result = await load(url, requests, seconds=size.round_s, in_flight=in_flight)
                rounds[side].results.append(result)
                say(
                    f"{kind}, round {turn + 1}/{size.rounds}, {in_flight} at once, {side}: "
                    f"{result.per_second:.0f}/s, p50 {result.p50_ms:.2f} ms, "
                    f"p99 {result.p99_ms:.2f} ms"
                )
                if result.unexpected:
                    say(f"unexpected: {result.first_unexpected[-300:]}")
    return measurement


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
