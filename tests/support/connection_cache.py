"""Connections to the tests' databases that are kept between queries."""

from types import TracebackType
from typing import Final, Self

import asyncpg

_MOST: Final = 4  # a test may query while a request to the service runs


class ConnectionCache:
    """Queries the databases of a run, each over a pool that its first query opens."""

    def __init__(self) -> None:
        self._pools: dict[str, asyncpg.Pool[asyncpg.Record]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pool in self._pools.values():
            pool.terminate()
        self._pools.clear()

    async def fetch(self, url: str, sql: str, *args: object) -> list[asyncpg.Record]:
        """Run one statement; return its rows."""
        if url not in self._pools:
            self._pools[url] = await asyncpg.create_pool(url, min_size=0, max_size=_MOST)
        return await self._pools[url].fetch(sql, *args)

    def forget(self, url: str) -> None:
        """Close the pool of a database that is dropped."""
        pool = self._pools.pop(url, None)
        if pool is not None:
            pool.terminate()
