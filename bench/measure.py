"""Rounds of load, interleaved between the sides, and their medians."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final
from urllib.parse import urlsplit

import msgspec

from bench.child_process import generate_load
from bench.load import Plan, Result
from testing.machine import say

IN_FLIGHT: Final = 8


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests to send in turn, and the expected content of the answers."""

    path: str
    bodies: tuple[bytes, ...]
    expect: tuple[str, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    whole: tuple[bytes, ...] = ()  # whole requests, in place of path, bodies and headers
    is_once: bool = False  # each is sent once at most


@dataclass(slots=True)
class Rounds:
    """Every round of one side, in the order they ran."""

    results: list[Result] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Median requests per second."""
        return median(r.per_second for r in self.results)

    @property
    def p50_ms(self) -> float:
        """Median of the rounds' median latency."""
        return median(r.p50_ms for r in self.results)

    @property
    def p95_ms(self) -> float:
        """Median of the rounds' 95th percentile."""
        return median(r.p95_ms for r in self.results)

    @property
    def p99_ms(self) -> float:
        """Median of the rounds' 99th percentile."""
        return median(r.p99_ms for r in self.results)

    @property
    def answers(self) -> int:
        """Answers of all rounds together."""
        return sum(r.answers for r in self.results)

    @property
    def unexpected(self) -> int:
        """Unexpected answers of all rounds together."""
        return sum(r.unexpected for r in self.results)

    @property
    def generator_busy(self) -> float:
        """The largest share of its core the load generator needed in a round."""
        return max(r.busy for r in self.results)

    def figures(self) -> dict[str, object]:
        """The medians and the spread, rounded for a reader."""
        rates = [r.per_second for r in self.results]
        return {
            "per_second": round(self.per_second, 1),
            "per_second_range": [round(min(rates), 1), round(max(rates), 1)],
            "p50_ms": round(self.p50_ms, 3),
            "p99_ms": round(self.p99_ms, 3),
            "answers": self.answers,
            "unexpected": self.unexpected,
            "generator_busy": round(self.generator_busy, 2),
        }


async def load(
    url: str, requests: Requests, *, seconds: float, in_flight: int = IN_FLIGHT
) -> Result:
    """One round against one server, by a load generator in a process of its own.

    Raises:
        RunFailed: the generator could not finish.
    """
    parts = urlsplit(url)
    plan = Plan(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 80,
        path=requests.path,
        bodies=[base64.b64encode(body).decode() for body in requests.bodies],
        in_flight=in_flight,
        duration_s=seconds,
        expect=list(requests.expect),
        headers=dict(requests.headers),
        requests=[base64.b64encode(each).decode() for each in requests.whole],
        is_once=requests.is_once,
    )
    return msgspec.json.decode(await generate_load("load", plan), type=Result)


def say_result(label: str, result: Result) -> None:
    """Say the rate and the latency of a round, and an answer that was not expected."""
    say(
        f"{label}: {result.per_second:.0f}/s, p50 {result.p50_ms:.2f} ms, "
        f"p95 {result.p95_ms:.2f} ms, p99 {result.p99_ms:.2f} ms"
    )
    if result.unexpected:
        say(f"unexpected: {result.first_unexpected[-300:]}")


def median_ratio(ours: Rounds, theirs: Rounds, measure: Callable[[Result], float]) -> float:
    """Return the median ratio of ours to theirs, round by round.

    Disturbances of the machine affect neighbouring rounds alike.
    """
    pairs = zip(ours.results, theirs.results, strict=True)
    return round(median(measure(mine) / measure(other) for mine, other in pairs), 3)


def per_second(result: Result) -> float:
    """Requests per second of a round."""
    return result.per_second


def p50_ms(result: Result) -> float:
    """Median latency of a round."""
    return result.p50_ms


def harmonic_rate(rates: Sequence[float]) -> float:
    """Requests per second of an equal mix of kinds, each served at its own rate."""
    return len(rates) / sum(1 / rate for rate in rates)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which that share of the values is; 0 without any."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
