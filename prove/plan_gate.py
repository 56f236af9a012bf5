"""Lets one process of a game work at a time, and stops it at a statement that its script names.

A process passes its gate after every statement, every commit and every sleep: the points. At a
point it may have to wait, or it dies: then its transaction is rolled back, as that of a process
that is killed. What it does meanwhile nobody else does, so that a game is the same each time.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, cast

import asyncpg

from farebox.kernel.secret import Secret
from farebox.storage.pool import Connection, Database

COMMIT: Final = "COMMIT"
SLEEP: Final = "sleep"
_LOOK_S: Final = 0.002  # between two looks whether a process waits for a lock
_PATIENCE_S: Final = 300.0
_BLOCKED: Final = """
    SELECT EXISTS (SELECT FROM pg_stat_activity
                   WHERE pid = ANY (pg_blocking_pids($1)) AND backend_type = 'client backend')
"""
_WIDTH: Final = 90  # characters of a statement that is shown


class ProcessDied(BaseException):
    """The process of a game is killed at this point."""


@dataclass(eq=False, slots=True)
class Gate:
    """Counts the points of a process.

    It stops after the points `stops`, dies at the point `dies_at`, and at the point `stumbles_at`
    its statement takes too long for it.
    """

    stops: tuple[int, ...] = ()
    dies_at: int = 0
    stumbles_at: int = 0
    passed: int = 0
    session: int | None = None  # the process of the server that works for it
    last: str = ""  # the statement of the last point
    has_stumbled: bool = False
    may_go: asyncio.Event = field(default_factory=asyncio.Event)
    is_stopped: asyncio.Event = field(default_factory=asyncio.Event)

    async def pass_point(self, statement: str) -> None:
        """Pass the next point, which follows a statement.

        Raises:
            ProcessDied: the script ends the process here.
            TimeoutError: the script lets the statement take too long.
        """
        self.passed += 1
        self.last = " ".join(statement.split())[:_WIDTH]
        if self.passed in self.stops:
            self.may_go.clear()
        if not self.may_go.is_set():
            self.is_stopped.set()
            await self.may_go.wait()
        if self.passed == self.dies_at:
            raise ProcessDied(self.last)
        if self.passed == self.stumbles_at:
            self.has_stumbled = True
            raise TimeoutError


class GatedConnection:
    """A connection whose every statement is followed by a point."""

    def __init__(self, own: Connection, gate: Gate) -> None:
        self._own, self._gate = own, gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    async def _pass(self, statement: str, made: Awaitable[Any]) -> Any:
        found = await made
        await self._gate.pass_point(statement)
        return found

    def execute(self, query: str, *args: Any) -> Coroutine[Any, Any, Any]:
        """See asyncpg."""
        return self._pass(query, self._own.execute(query, *args))

    def executemany(self, query: str, args: Any) -> Coroutine[Any, Any, Any]:
        """See asyncpg."""
        return self._pass(query, self._own.executemany(query, args))

    def fetch(self, query: str, *args: Any) -> Coroutine[Any, Any, Any]:
        """See asyncpg."""
        return self._pass(query, self._own.fetch(query, *args))

    def fetchrow(self, query: str, *args: Any) -> Coroutine[Any, Any, Any]:
        """See asyncpg."""
        return self._pass(query, self._own.fetchrow(query, *args))

    def fetchval(self, query: str, *args: Any) -> Coroutine[Any, Any, Any]:
        """See asyncpg."""
        return self._pass(query, self._own.fetchval(query, *args))


class GameDatabase(Database):
    """A pool whose transactions may stand still for as long as a busy machine needs."""

    def __init__(self, url: Secret[str], *, connections: int) -> None:
        super().__init__(url, connections=connections, wait_s=_PATIENCE_S, statement_s=_PATIENCE_S)
        self._patient: set[int] = set()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """One connection."""
        async with super().connection() as own:
            if own.get_server_pid() not in self._patient:
                await own.execute("SET idle_in_transaction_session_timeout = 0")
                self._patient.add(own.get_server_pid())
            yield own


class GatedDatabase(Database):
    """The pool of the games as one process has it."""

    def __init__(self, whole: Database, gate: Gate) -> None:
        self._whole, self._gate = whole, gate

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """One connection; the process that waits at a point keeps it."""
        async with self._whole.connection() as own:
            self._gate.session = own.get_server_pid()
            try:
                yield cast(Connection, GatedConnection(own, self._gate))
            finally:
                self._gate.session = None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One connection in a transaction; a point follows its commit."""
        async with self.connection() as gated:
            async with gated.transaction():
                yield gated
            await self._gate.pass_point(COMMIT)


class GameClock:
    """The time of all processes of a game: it moves by `sleep` and `turn` alone."""

    def __init__(self, start: datetime) -> None:
        self._start, self._elapsed_s = start, 0.0

    def now(self) -> datetime:
        """The time of the game."""
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        """The seconds of the game."""
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.turn(seconds)

    def turn(self, seconds: float) -> None:
        """Let the time pass."""
        self._elapsed_s += seconds

    def turn_to(self, at: datetime) -> None:
        """Let the time pass until then."""
        self.turn(max(0.0, (at - self.now()).total_seconds()))


class ProcessClock:
    """The clock of one process, which may be behind; a sleep is a point."""

    def __init__(self, game: GameClock, gate: Gate, *, behind_s: float = 0.0) -> None:
        self._game, self._gate, self._behind_s = game, gate, behind_s

    def now(self) -> datetime:
        """The time as the process has it."""
        return self._game.now() - timedelta(seconds=self._behind_s)

    def monotonic(self) -> float:
        """The seconds of the game."""
        return self._game.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let the time pass for all."""
        self._game.turn(seconds)
        await self._gate.pass_point(SLEEP)


@dataclass(eq=False, slots=True)
class Player:
    """A process at its gate."""

    name: str
    gate: Gate
    task: "asyncio.Task[None]"

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or died."""
        return self.task.done()


async def let_go(player: Player, observer: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Let a process go on until it ends, stops, or waits for a lock."""
    gate = player.gate
    gate.is_stopped.clear()
    gate.may_go.set()
    stopped = asyncio.ensure_future(gate.is_stopped.wait())
    try:
        while True:
            await asyncio.wait(
                {player.task, stopped}, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED
            )
            if player.is_over or gate.is_stopped.is_set():
                return
            if gate.session is not None and await _is_blocked(observer, gate.session):
                return
    finally:
        gate.may_go.clear()
        stopped.cancel()
        with suppress(asyncio.CancelledError):
            await stopped


async def play_together(
    players: list[Player], observer: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """Let processes work in turn until all have ended: the first until it stops, then the next.

    Raises:
        TimeoutError: one of them waits for ever.
    """
    async with asyncio.timeout(_PATIENCE_S):
        while running := [each for each in players if not each.is_over]:
            for each in running:
                await let_go(each, observer)
            # what all of them wait for is the server's: it ends a deadlock
            await asyncio.sleep(0)


async def _is_blocked(observer: "asyncpg.Connection[asyncpg.Record]", session: int) -> bool:
    """Whether another process holds what this one waits for; a vacuum ends by itself."""
    found: bool = await observer.fetchval(_BLOCKED, session)
    return found
