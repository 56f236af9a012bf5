"""The point every call of a replica passes on its way out: counted, delayed, or its last."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from prove.pg_frames import CATALOGS

T = TypeVar("T")
LOST: Final = (ConnectionError, EOFError, TimeoutError)  # the other side hung up: no answer either


class Side(StrEnum):
    """Where a replica dies, seen from the call it is in."""

    BEFORE = "before"  # the call never reaches the other side
    AFTER = "after"  # it was processed, and its answer never arrives
    LATE = "late"  # it reaches the other side after the replica is gone


@dataclass(frozen=True, slots=True, order=True)
class Boundary:
    """One call of a settlement: its label, and the how many-eth of its kind it is."""

    label: str
    occurrence: int

    def __str__(self) -> str:
        return f"{self.label} #{self.occurrence}"


class CutOff(Exception):
    """The replica that made the call is dead: whoever carries it closes the connection.

    `strike` is the one it died of; its call may still be under way.
    """

    def __init__(self, strike: "Strike | None" = None) -> None:
        super().__init__("cut off")
        self.strike = strike


class Strike:
    """Kills the first replica that comes to a boundary, or to its so many-eth call, once."""

    def __init__(
        self, at: Boundary | int, side: Side, kill: Callable[[str], Awaitable[None]]
    ) -> None:
        self.at, self.side, self._kill = at, side, kill
        self.is_spent = False  # whoever comes now is spared
        self.struck = asyncio.Event()
        self.victim = ""
        self._held: Callable[[], Awaitable[object]] | None = None
        self._is_released = asyncio.Event()

    def takes(self, boundary: Boundary, number: int) -> bool:
        """Whether this call is the one; only ever one is."""
        if self.is_spent or self.at not in (boundary, number):
            return False
        self.is_spent = True
        return True

    async def fall(self, replica: str, deliver: Callable[[], Awaitable[object]]) -> None:
        """The replica is dead and the call where the side wants it."""
        if self.side is Side.AFTER:
            with contextlib.suppress(*LOST):
                await deliver()
        else:
            self._held = deliver
        if self.side is not Side.LATE:
            self._is_released.set()
        self.victim = replica
        await self._kill(replica)
        self.struck.set()

    async def deliver_held(self) -> None:
        """The call that was held back reaches the other side now, if it still can."""
        held, self._held = self._held, None
        with contextlib.suppress(*LOST):
            if held is not None:
                await held()
        self._is_released.set()

    async def released(self) -> None:
        """Return once the call is under way no more."""
        await self._is_released.wait()


class Mishap(Protocol):
    """What becomes of a call on its way."""

    async def __call__(self, deliver: Callable[[], Awaitable[T]]) -> T:
        """The answer of the other side, late or never.

        Raises:
            CutOff: the connection breaks.
        """
        ...


class Gate:
    """Every call of one replica, RPC and SQL alike; those of a settlement are counted."""

    def __init__(self, replica: str) -> None:
        self._replica = replica
        self._counts: Counter[str] = Counter()
        self._is_open = False
        self._last_call_at = 0.0
        self._passing = 0
        self.strike: Strike | None = None
        self.pause: Callable[[], float] | None = None  # seconds before a call goes on
        self.on_answered: Callable[[str], None] | None = None
        self.mishap: Mishap | None = None  # of the catalog's calls, which no settlement makes
        self.crossed: list[Boundary] = []

    async def cross(self, label: str, deliver: Callable[[], Awaitable[T]]) -> T:
        """The answer of the other side.

        Raises:
            CutOff: the replica died over this call, or its connection breaks.
        """
        if label.startswith(CATALOGS):  # no step of a settlement, and never at rest
            return await (deliver() if self.mishap is None else self.mishap(deliver))
        self._passing += 1
        try:
            if self._is_open:
                await self._count(label, deliver)
            answer = await deliver()
        finally:
            self._passing -= 1
            self._last_call_at = asyncio.get_running_loop().time()
        if self.on_answered is not None:
            self.on_answered(label)
        return answer

    async def _count(self, label: str, deliver: Callable[[], Awaitable[object]]) -> None:
        self._counts[label] += 1
        boundary = Boundary(label, self._counts[label])
        self.crossed.append(boundary)
        if self.strike is not None and self.strike.takes(boundary, len(self.crossed)):
            await self.strike.fall(self._replica, deliver)
            raise CutOff(self.strike)
        if self.pause is not None:
            await asyncio.sleep(self.pause())

    def open(self) -> None:
        """From here on calls are those of a settlement."""
        self._is_open = True

    async def quiet(self, for_s: float) -> None:
        """Return once no call was made for so long: what a start asks for is done."""
        loop = asyncio.get_running_loop()
        while True:
            still_s = for_s if self._passing else self._last_call_at + for_s - loop.time()
            if still_s <= 0:
                return
            await asyncio.sleep(still_s / 2 + 0.002)
