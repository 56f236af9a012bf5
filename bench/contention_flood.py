"""Traffic of other kinds: an open loop at a fixed rate of requests a minute."""

import asyncio
import base64
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import aiohttp
import msgspec

from farebox.kernel.secret import Secret
from testing.database import connected

PER_MINUTE: Final = 1_400
CALLERS: Final = 4  # addresses the requests come from
_HELD_S: Final = 3.0
_FREE_S: Final = 0.1
_ANSWER_S: Final = 60.0
_REASONS: Final = ("invalidReason", "errorReason")


@dataclass(frozen=True, slots=True)
class RequestTemplate:
    """The request that the traffic repeats."""

    path: str
    body: bytes | None = None  # None: GET


@dataclass(slots=True)
class Answers:
    """The answers to the traffic."""

    sent: int = 0
    seconds: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)
    latencies_s: list[float] = field(default_factory=list)

    @property
    def per_minute(self) -> float:
        """Requests a minute."""
        return round(self.sent / self.seconds * 60, 1) if self.seconds else 0.0

    def figures(self) -> dict[str, object]:
        """Return the figures, rounded for a reader."""
        ordered = sorted(self.latencies_s)
        p50_s, most_s = (ordered[len(ordered) // 2], ordered[-1]) if ordered else (0.0, 0.0)
        return {
            "per_minute": self.per_minute,
            "answers": dict(self.kinds.most_common()),
            "p50_s": round(p50_s, 3),
            "max_s": round(most_s, 3),
        }


@asynccontextmanager
async def flood(url: str, template: RequestTemplate) -> AsyncIterator[Answers]:
    """Send the request `PER_MINUTE` times a minute by each caller in turn; wait for the last."""
    answers = Answers()
    timeout = aiohttp.ClientTimeout(total=_ANSWER_S)
    async with (
        aiohttp.ClientSession(
            url, connector=aiohttp.TCPConnector(limit=0), timeout=timeout
        ) as session,
        asyncio.TaskGroup() as group,
    ):
        sending = group.create_task(_send_at_rate(session, template, answers, group))
        try:
            yield answers
        finally:
            sending.cancel()


async def _send_at_rate(
    session: aiohttp.ClientSession,
    template: RequestTemplate,
    answers: Answers,
    group: asyncio.TaskGroup,
) -> None:
    began = time.monotonic()
    while True:
        group.create_task(_send_one(session, template, answers, caller=answers.sent % CALLERS))
        answers.sent += 1
        answers.seconds = time.monotonic() - began
        await asyncio.sleep(began + answers.sent * 60 / PER_MINUTE - time.monotonic())


async def _send_one(
    session: aiohttp.ClientSession, template: RequestTemplate, answers: Answers, *, caller: int
) -> None:
    headers = {"X-Forwarded-For": f"198.51.100.{caller}", "Content-Type": "application/json"}
    method = "GET" if template.body is None else "POST"
    began = time.monotonic()
    try:
        async with session.request(
            method, template.path, data=template.body, headers=headers
        ) as answer:
            kind = f"{answer.status} {_reason(await answer.read())}".strip()
    except (aiohttp.ClientError, TimeoutError):
        kind = "no answer"
    answers.kinds[kind] += 1
    answers.latencies_s.append(time.monotonic() - began)


def _reason(body: bytes) -> str:
    try:
        fields = msgspec.json.decode(body, type=dict[str, object])
    except msgspec.MsgspecError:
        return "no JSON"
    return next((str(fields[name]) for name in _REASONS if name in fields), "")


@asynccontextmanager
async def slow_tables(database: Secret[str], tables: tuple[str, ...]) -> AsyncIterator[None]:
    """Slow statements on these tables down by locking them for three seconds at a time."""
    locking = asyncio.create_task(_hold_lock(database, tables))
    try:
        yield
    finally:
        locking.cancel()
        with suppress(asyncio.CancelledError):
            await locking


async def _hold_lock(database: Secret[str], tables: tuple[str, ...]) -> None:
    async with connected(database) as connection:
        while True:
            async with connection.transaction():
                await connection.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
                await asyncio.sleep(_HELD_S)
            await asyncio.sleep(_FREE_S)


@dataclass(frozen=True, slots=True)
class SlowSimulations:
    """The delays of a relay: simulations whose envelope has one of the marks; None: all."""

    marks: frozenset[bytes] | None
    delayed: Counter[str] = field(default_factory=Counter)

    def delay_s(self, method: str, body: bytes) -> float:
        """Return the delay of a call, seconds."""
        if method != "simulateTransaction":
            return 0.0
        if self.marks is not None:
            call = msgspec.json.decode(body, type=_Call)
            envelope = base64.b64decode(call.params.transaction)
            if not any(mark in envelope for mark in self.marks):
                return 0.0
        self.delayed[method] += 1
        return _HELD_S


class _Params(msgspec.Struct):
    transaction: str


class _Call(msgspec.Struct):
    params: _Params
