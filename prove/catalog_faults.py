"""Faults of the catalog's statements, and of no others."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from enum import StrEnum
from typing import Final, TypeVar

import asyncpg

from prove.environment import Environment, Replica
from prove.interceptor import ConnectionCut, lose_answer

T = TypeVar("T")
_LOCK_WAIT: Final = "5s"
_RAISING_FUNCTION: Final = """
    CREATE FUNCTION prove_fault() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'no' USING ERRCODE = '{code}';
    END $$
"""
_TRIGGER: Final = """
    CREATE TRIGGER prove_fault BEFORE INSERT OR UPDATE OR DELETE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION prove_fault()
"""


class CatalogKind(StrEnum):
    """A fault of the catalog's tables; the values seed the random numbers."""

    NONE = "nothing goes wrong"
    FAILS = "the server has no room"  # an error that the service treats as an outage
    BREAKS = "the server is broken"  # an error that no code expects
    LOCKED = "the tables are locked"
    SILENT = "no statement arrives"
    UNHEARD = "no answer arrives"
    CUT = "the connection breaks before a statement"
    CUT_AFTER = "the connection breaks after a statement"
    MIXED = "any of these on any call"


_CODES: Final = {CatalogKind.FAILS: "53100", CatalogKind.BREAKS: "P0001"}


@asynccontextmanager
async def inject_fault(
    environment: Environment, replicas: Sequence[Replica], kind: CatalogKind, rng: random.Random
) -> AsyncIterator[None]:
    """Inject the fault into the catalog's statements inside the context."""
    async with AsyncExitStack() as opened:
        if kind in _CODES:
            await opened.enter_async_context(
                _raise_errors(environment, await _draw_tables(environment, rng), kind)
            )
        elif kind is CatalogKind.LOCKED:
            await opened.enter_async_context(
                _lock_tables(environment, await _draw_tables(environment, rng))
            )
        elif kind in (*_NETWORK_KINDS, CatalogKind.MIXED):
            lossy = LossyNetwork(kind, rng)
            for replica in replicas:
                replica.interceptor.catalog_fault = lossy
            opened.callback(_remove_fault, replicas, lossy)
        yield


def _remove_fault(replicas: Sequence[Replica], lossy: "LossyNetwork") -> None:
    for replica in replicas:
        replica.interceptor.catalog_fault = None
    lossy.is_over.set()


async def _draw_tables(environment: Environment, rng: random.Random) -> list[str]:
    """Draw any of the catalog's tables, at least one that every listing needs."""
    rows = await environment.query(
        "SELECT tablename::text AS name FROM pg_tables WHERE schemaname = 'public'"
        " AND tablename ~ '^(listings$|listing_|search_)'"
    )
    names = sorted(row["name"] for row in rows)
    needed = rng.choice([name for name in names if name in _NEEDED])
    return sorted({needed, *rng.sample(names, rng.randint(0, len(names)))})


_NEEDED: Final = ("listings", "listing_terms", "listing_payers", "listing_decisions")


@asynccontextmanager
async def _raise_errors(
    environment: Environment, tables: list[str], kind: CatalogKind
) -> AsyncIterator[None]:
    await environment.query(_RAISING_FUNCTION.format(code=_CODES[kind]))
    for table in tables:
        await environment.query(_TRIGGER.format(table=table))
    yield
    await environment.query("DROP FUNCTION prove_fault CASCADE")


@asynccontextmanager
async def _lock_tables(environment: Environment, tables: list[str]) -> AsyncIterator[None]:
    db = await asyncpg.connect(environment.server.url_of(environment.database))
    try:
        await db.execute(f"SET lock_timeout = '{_LOCK_WAIT}'")
        held = await _acquire_locks(db, tables)
        yield
        await held.rollback()
    finally:
        await db.close()


async def _acquire_locks(
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


class LossyNetwork:
    """Loses calls or answers between the catalog and its database."""

    def __init__(self, kind: CatalogKind, rng: random.Random) -> None:
        self._kind, self._rng = kind, rng
        self.is_over = asyncio.Event()

    async def __call__(self, deliver: Callable[[], Awaitable[T]]) -> T:
        """Deliver the call as the fault allows.

        Raises:
            ConnectionCut: the connection breaks, now or when the fault is over.
        """
        kind = self._kind
        if kind is CatalogKind.MIXED:
            kind = self._rng.choice((CatalogKind.NONE, *_NETWORK_KINDS))
        if kind is CatalogKind.NONE:
            return await deliver()
        if kind in (CatalogKind.UNHEARD, CatalogKind.CUT_AFTER):
            await lose_answer(deliver)
        if kind in (CatalogKind.SILENT, CatalogKind.UNHEARD):
            await self.is_over.wait()
        raise ConnectionCut


_NETWORK_KINDS: Final = (
    CatalogKind.SILENT,
    CatalogKind.UNHEARD,
    CatalogKind.CUT,
    CatalogKind.CUT_AFTER,
)
