"""Intercepts every outgoing call of a replica: counts, delays or fails it, or kills the replica."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from prove.pg_frames import CATALOGS, Labels, Statements

T = TypeVar("T")
# the other side closed the connection
CONNECTION_ERRORS: Final = (ConnectionError, EOFError, TimeoutError)
_OTHER_POOLS: Final = (b"reads", b"background", b"health")  # no part of a settlement


class CrashTiming(StrEnum):
    """The moment of a crash, relative to the call in progress."""

    BEFORE = "before"  # the call never reaches the other side
    AFTER = "after"  # the call is processed, and its answer never arrives
    LATE = "late"  # the call reaches the other side after the crash


@dataclass(frozen=True, slots=True, order=True)
class Boundary:
    """One call of a settlement: its label, and its index among the calls with that label."""

    label: str
    occurrence: int

    def __str__(self) -> str:
        return f"{self.label} #{self.occurrence}"


class ConnectionCut(Exception):
    """The replica that made the call is dead; the proxy closes the connection.

    `crash_point` is the cause; its call may still be under way.
    """

    def __init__(self, crash_point: "CrashPoint | None" = None) -> None:
        super().__init__("connection cut")
        self.crash_point = crash_point


class ServerError(Exception):
    """The SQL proxy answers the statement with this error and does not run it."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


async def lose_answer(deliver: Callable[[], Awaitable[object]]) -> None:
    """Deliver a call, and never its answer.

    Raises:
        ConnectionCut: the connection broke before.
    """
    try:
        await deliver()
    except CONNECTION_ERRORS as lost:
        raise ConnectionCut from lost


class CrashPoint:
    """Kills the first replica that reaches a boundary or a call number, once."""

    def __init__(
        self, at: Boundary | int, timing: CrashTiming, kill: Callable[[str], Awaitable[None]]
    ) -> None:
        self.at, self.timing, self._kill = at, timing, kill
        self.is_spent = False  # later calls pass
        self.crashed = asyncio.Event()
        self.victim = ""
        self._held: Callable[[], Awaitable[object]] | None = None
        self._is_released = asyncio.Event()

    def matches(self, boundary: Boundary, number: int) -> bool:
        """Whether this call triggers the crash; only one call does."""
        if self.is_spent or self.at not in (boundary, number):
            return False
        self.is_spent = True
        return True

    async def crash(self, replica: str, deliver: Callable[[], Awaitable[object]]) -> None:
        """Kill the replica, with the call delivered, held or dropped according to `timing`."""
        if self.timing is CrashTiming.AFTER:
            with contextlib.suppress(*CONNECTION_ERRORS):
                await deliver()
        else:
            self._held = deliver
        if self.timing is not CrashTiming.LATE:
            self._is_released.set()
        self.victim = replica
        await self._kill(replica)
        self.crashed.set()

    async def deliver_held_call(self) -> None:
        """Deliver the call that was held back, if the connection still stands."""
        held, self._held = self._held, None
        with contextlib.suppress(*CONNECTION_ERRORS):
            if held is not None:
                await held()
        self._is_released.set()

    async def wait_until_released(self) -> None:
        """Return once the call is no longer under way."""
        await self._is_released.wait()


class CatalogFault(Protocol):
    """A fault of the catalog's calls."""

    async def __call__(self, deliver: Callable[[], Awaitable[T]]) -> T:
        """Deliver the call, late or never.

        Raises:
            ConnectionCut: the connection breaks.
        """
        ...


class CallFault(Protocol):
    """A fault of a settlement's calls."""

    async def __call__(self, boundary: Boundary, deliver: Callable[[], Awaitable[T]]) -> T:
        """Deliver the call, late or never.

        Raises:
            ConnectionCut: the connection breaks.
            ServerError: the database refuses the statement.
        """
        ...


class Interceptor:
    """Intercepts the RPC and SQL calls of one replica and counts those of a settlement."""

    def __init__(self, replica: str) -> None:
        self._replica = replica
        self._counts: Counter[str] = Counter()
        self._is_counting = False
        self._last_call_at = 0.0
        self._under_way = 0
        self.crash_point: CrashPoint | None = None
        self.pause: Callable[[], float] | None = None  # seconds by which a call is delayed
        self.on_response: Callable[[str], None] | None = None
        # of the catalog's calls, which are no part of a settlement
        self.catalog_fault: CatalogFault | None = None
        self.call_fault: CallFault | None = None  # of counted calls
        self.calls: list[Boundary] = []

    def labels_of(self, startup: bytes) -> Labels:
        """The labels of a connection to the database, by its first message."""
        is_other = any(b"\0farebox-%s\0" % each in startup for each in _OTHER_POOLS)
        return Statements(are_the_catalogs=is_other)

    async def deliver_call(self, body: bytes, forward: Callable[[], Awaitable[T]]) -> T:
        """Forward the body of an RPC call to the node; return the answer."""
        return await forward()

    async def intercept(self, label: str, deliver: Callable[[], Awaitable[T]]) -> T:
        """Deliver a call; return the answer.

        Raises:
            ConnectionCut: the replica was killed during this call, or its connection breaks.
            ServerError: the database refuses the statement.
        """
        if label.startswith(CATALOGS):  # no part of a settlement, and never idle
            return await (deliver() if self.catalog_fault is None else self.catalog_fault(deliver))
        self._under_way += 1
        try:
            boundary = await self._count(label, deliver) if self._is_counting else None
            if boundary is None or self.call_fault is None:
                answer = await deliver()
            else:
                answer = await self.call_fault(boundary, deliver)
        finally:
            self._under_way -= 1
            self._last_call_at = asyncio.get_running_loop().time()
        if self.on_response is not None:
            self.on_response(label)
        return answer

    async def _count(self, label: str, deliver: Callable[[], Awaitable[object]]) -> Boundary:
        self._counts[label] += 1
        boundary = Boundary(label, self._counts[label])
        self.calls.append(boundary)
        if self.crash_point is not None and self.crash_point.matches(boundary, len(self.calls)):
            await self.crash_point.crash(self._replica, deliver)
            raise ConnectionCut(self.crash_point)
        if self.pause is not None:
            await asyncio.sleep(self.pause())
        return boundary

    def start_counting(self) -> None:
        """Count calls from now on as those of a settlement."""
        self._is_counting = True

    async def wait_until_quiet(self, for_s: float) -> None:
        """Return once no call was made for `for_s` seconds."""
        loop = asyncio.get_running_loop()
        while True:
            still_s = for_s if self._under_way else self._last_call_at + for_s - loop.time()
            if still_s <= 0:
                return
            await asyncio.sleep(still_s / 2 + 0.002)
