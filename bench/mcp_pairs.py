"""The same searches by the tool and by HTTP, each pair one right after the other.

Other work on the machine so affects both alike.
"""

import http.client
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final
from urllib.parse import urlsplit

from testing.machine import RunFailed

_ANSWER_S: Final = 30.0
_EXPECTED: Final = b'"resources":['


@dataclass(frozen=True, slots=True)
class Pair:
    """One search: the body for `/mcp`, and the target for HTTP."""

    body: bytes
    target: str


@dataclass(slots=True)
class Pairs:
    """The times of every pair, in milliseconds."""

    tool_ms: list[float] = field(default_factory=list)
    http_ms: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, object]:
        """Return the medians and the number of pairs."""
        return {
            "tool_p50_ms": round(median(self.tool_ms), 3),
            "http_p50_ms": round(median(self.http_ms), 3),
            "pairs": len(self.tool_ms),
        }

    @property
    def added_ms(self) -> float:
        """The median of what the tool takes longer than HTTP."""
        pairs = zip(self.tool_ms, self.http_ms, strict=True)
        return median(tool - by_http for tool, by_http in pairs)


def measure_pairs(url: str, pairs: Sequence[Pair], *, rounds: int) -> Pairs:
    """Send every pair `rounds` times, after a round that warms up; each side is first in turn.

    Raises:
        RunFailed: a response is no search result.
    """
    parts, measured = urlsplit(url), Pairs()
    client = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_ANSWER_S)
    for turn in range(rounds + 1):
        for number, pair in enumerate(pairs):
            sides = (_by_tool, _by_http) if (turn + number) % 2 else (_by_http, _by_tool)
            times = {send: send(client, pair) for send in sides}
            if turn:
                measured.tool_ms.append(times[_by_tool])
                measured.http_ms.append(times[_by_http])
    client.close()
    return measured


def _by_tool(client: http.client.HTTPConnection, pair: Pair) -> float:
    return _time(client, "POST", "/mcp", pair.body)


def _by_http(client: http.client.HTTPConnection, pair: Pair) -> float:
    return _time(client, "GET", pair.target, None)


def _time(
    client: http.client.HTTPConnection, method: str, target: str, body: bytes | None
) -> float:
    headers = {} if body is None else {"Content-Type": "application/json"}
    began = time.perf_counter()
    client.request(method, target, body, headers)
    response = client.getresponse()
    content = response.read()
    took_ms = (time.perf_counter() - began) * 1000
    if response.status != 200 or _EXPECTED not in content:
        raise RunFailed(f"{method} {target}: {response.status} {content[:200]!r}")
    return took_ms
