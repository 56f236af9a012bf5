"""Faults of one statement of a settlement, and for a while of those that follow."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from prove.interceptor import Boundary, ConnectionCut, ServerError, lose_answer

T = TypeVar("T")
DELAY_S: Final = 10.0
_ROLLBACK: Final = "sql ROLLBACK"  # a failing server still rolls back


class StatementFault(StrEnum):
    """A kind of fault of a statement; the values seed the case numbers."""

    ERROR = "the server fails"
    DEADLOCK = "a deadlock"
    SERIALIZATION = "a serialization failure"
    DISK_FULL = "the disk is full"
    LOST = "the answer is lost"
    DELAYED = "it takes ten seconds"


ERRORS: Final = ("XX000", "57014", "55P03", "53200")  # of StatementFault.ERROR, any of these
_SQLSTATES: Final = {
    StatementFault.DEADLOCK: "40P01",
    StatementFault.SERIALIZATION: "40001",
    StatementFault.DISK_FULL: "53100",
}


@dataclass(frozen=True, slots=True)
class DatabaseFault:
    """A fault and its duration.

    Args:
        kind: the kind of fault.
        sqlstate: the error of `StatementFault.ERROR`.
        lasts_s: 0 for one statement; otherwise the seconds for which every statement of every
            replica fails.
        is_silent: a lost answer leaves its connection open until the end of the fault.
        is_early: the server processes a delayed statement before the delay.
    """

    kind: StatementFault
    sqlstate: str = ERRORS[0]
    lasts_s: float = 0.0
    is_silent: bool = False
    is_early: bool = True

    def __str__(self) -> str:
        named = (
            f"{self.kind} ({self.sqlstate})"
            if self.kind is StatementFault.ERROR
            else str(self.kind)
        )
        lasting = f", {self.lasts_s:g} s long" if self.lasts_s else ""
        silent = ", in silence" if self.is_silent else ""
        late = ", then it is processed" if not self.is_early else ""
        return f"{named}{lasting}{silent}{late}"


class FaultyDatabase:
    """A database that fails from the statement of a boundary on."""

    def __init__(self, at: Boundary, fault: DatabaseFault) -> None:
        self._at, self._fault = at, fault
        self._is_over = asyncio.Event()
        self.is_reached = False
        self.recovered_at = 0.0  # when the fault ended, by the loop's clock

    async def __call__(self, boundary: Boundary, deliver: Callable[[], Awaitable[T]]) -> T:
        """Deliver the statement as the fault allows.

        Raises:
            ConnectionCut: the connection breaks.
            ServerError: the database refuses the statement.
        """
        if not self._meets(boundary):
            return await deliver()
        is_first, self.is_reached = not self.is_reached, True
        if self._fault.kind is StatementFault.DELAYED:
            return await (self._delayed(deliver) if is_first else deliver())
        if not is_first:
            return await self._fail(deliver)
        if self._fault.lasts_s:
            asyncio.get_running_loop().call_later(self._fault.lasts_s, self.end)
            return await self._fail(deliver)
        try:
            return await self._fail(deliver)
        finally:
            self.end()

    def end(self) -> None:
        """End the fault."""
        if not self._is_over.is_set():
            self.recovered_at = asyncio.get_running_loop().time()
            self._is_over.set()

    async def wait_until_recovered(self) -> None:
        """Return once the fault has ended."""
        await self._is_over.wait()

    def _meets(self, boundary: Boundary) -> bool:
        if self._is_over.is_set() or not boundary.label.startswith("sql"):
            return False
        if not self.is_reached:
            return boundary == self._at
        return self._fault.lasts_s > 0 and not boundary.label.startswith(_ROLLBACK)

    async def _fail(self, deliver: Callable[[], Awaitable[T]]) -> T:
        if self._fault.kind is not StatementFault.LOST:
            raise ServerError(_SQLSTATES.get(self._fault.kind, self._fault.sqlstate))
        await lose_answer(deliver)
        if self._fault.is_silent:
            await self._is_over.wait()
        raise ConnectionCut

    async def _delayed(self, deliver: Callable[[], Awaitable[T]]) -> T:
        try:
            if not self._fault.is_early:
                await asyncio.sleep(DELAY_S)
                return await deliver()
            answer = await deliver()
            await asyncio.sleep(DELAY_S)
            return answer
        finally:
            self.end()
