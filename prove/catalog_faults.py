"""What goes wrong with the catalog's statements, and with no others."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from enum import StrEnum
from typing import Final, TypeVar

import asyncpg

from prove.arena import Arena, Replica
from prove.gate import LOST, CutOff

T = TypeVar("T")
_LOCK_WAIT: Final = "5s"
_RAISES: Final = """
    CREATE FUNCTION prove_fault() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'no' USING ERRCODE = '{code}';
    END $$
"""
_ON_EACH: Final = """
    CREATE TRIGGER prove_fault BEFORE INSERT OR UPDATE OR DELETE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION prove_fault()
"""


class Kind(StrEnum):
    """One way in which the catalog's part of the database is out of order."""

    NONE = "nothing goes wrong"
    FAILS = "the server has no room"  # as an outage is told
    BREAKS = "the server is broken"  # as nobody expects it
    LOCKED = "the tables are locked"
    SILENT = "no statement arrives"
    UNHEARD = "no answer arrives"
    CUT = "the connection breaks before a statement"
    CUT_AFTER = "the connection breaks after a statement"
    MIXED = "any of these on any call"


_CODES: Final = {Kind.FAILS: "53100", Kind.BREAKS: "XX000"}


@asynccontextmanager
async def faulty(
    arena: Arena, replicas: Sequence[Replica], kind: Kind, dice: random.Random
) -> AsyncIterator[None]:
    """The catalog's statements meet this fault inside the context."""
    async with AsyncExitStack() as opened:
        if kind in _CODES:
            await opened.enter_async_context(_raising(arena, await _some_tables(arena, dice), kind))
        elif kind is Kind.LOCKED:
            await opened.enter_async_context(_locked(arena, await _some_tables(arena, dice)))
        elif kind in (*_ON_THE_WAY, Kind.MIXED):
            mishap = OnTheWay(kind, dice)
            for replica in replicas:
                replica.gate.mishap = mishap
            opened.callback(_well_again, replicas, mishap)
        yield


def _well_again(replicas: Sequence[Replica], mishap: "OnTheWay") -> None:
    for replica in replicas:
        replica.gate.mishap = None
    mishap.is_over.set()


async def _some_tables(arena: Arena, dice: random.Random) -> list[str]:
    """Any number of the catalog's tables, one of those that every listing needs among them."""
    rows = await arena.query(
        "SELECT tablename::text AS name FROM pg_tables WHERE schemaname = 'public'"
        " AND tablename ~ '^(listings$|listing_|search_)'"
    )
    names = sorted(row["name"] for row in rows)
    needed = dice.choice([name for name in names if name in _NEEDED])
    return sorted({needed, *dice.sample(names, dice.randint(0, len(names)))})


_NEEDED: Final = ("listings", "listing_terms", "listing_payers", "listing_decisions")


@asynccontextmanager
async def _raising(arena: Arena, tables: list[str], kind: Kind) -> AsyncIterator[None]:
    await arena.query(_RAISES.format(code=_CODES[kind]))
    for table in tables:
        await arena.query(_ON_EACH.format(table=table))
    yield
    await arena.query("DROP FUNCTION prove_fault CASCADE")


@asynccontextmanager
async def _locked(arena: Arena, tables: list[str]) -> AsyncIterator[None]:
    db = await asyncpg.connect(arena.world.url_of(arena.database))
    try:
        await db.execute(f"SET lock_timeout = '{_LOCK_WAIT}'")
        held = await _hold(db, tables)
        yield
        await held.rollback()
    finally:
        await db.close()


async def _hold(
    db: "asyncpg.Connection[asyncpg.Record]", tables: list[str]
) -> asyncpg.transaction.Transaction:
    while True:
        held = db.transaction()
        await held.start()
        try:
            await db.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
        except (asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError):
            await held.rollback()
        else:
            return held


class OnTheWay:
    """A network between the catalog and its database on which calls or answers get lost."""

    def __init__(self, kind: Kind, dice: random.Random) -> None:
        self._kind, self._dice = kind, dice
        self.is_over = asyncio.Event()

    async def __call__(self, deliver: Callable[[], Awaitable[T]]) -> T:
        """The answer, if the fault lets one through.

        Raises:
            CutOff: the connection breaks, now or when the fault is over.
        """
        kind = self._kind
        if kind is Kind.MIXED:
            kind = self._dice.choice((Kind.NONE, *_ON_THE_WAY))
        if kind is Kind.NONE:
            return await deliver()
        if kind in (Kind.UNHEARD, Kind.CUT_AFTER):
            try:
                await deliver()
            except LOST as lost:
                raise CutOff from lost
        if kind in (Kind.SILENT, Kind.UNHEARD):
            await self.is_over.wait()
        raise CutOff


_ON_THE_WAY: Final = (Kind.SILENT, Kind.UNHEARD, Kind.CUT, Kind.CUT_AFTER)
