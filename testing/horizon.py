"""A stub of Horizon, of which the x402 packages of npm read the cadence of ledgers."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Final

from aiohttp import web

from testing.servers import serving

_LEDGERS: Final = 20


class HorizonStub:
    """Answers the one Horizon read of the x402 packages: recent ledgers, `cadence_s` apart."""

    def __init__(self, *, cadence_s: float, latency_ms: float = 0) -> None:
        self.reads = 0
        self._latency_s = latency_ms / 1000
        newest = datetime.now(UTC)
        records = [
            {
                "sequence": 1000 - i,
                "closed_at": f"{newest - timedelta(seconds=i * cadence_s):%Y-%m-%dT%H:%M:%S.%fZ}",
            }
            for i in range(_LEDGERS)
        ]
        links = {"next": {"href": ""}, "prev": {"href": ""}}
        self._page = json.dumps({"_links": links, "_embedded": {"records": records}}).encode()

    async def _answer(self, request: web.Request) -> web.Response:
        del request
        self.reads += 1
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        return web.Response(body=self._page, content_type="application/json")

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Listen on loopback; yields the URL."""
        app = web.Application()
        app.router.add_get("/{host}/ledgers", self._answer)
        async with serving(app) as url:
            yield url
