"""Timeouts of connections that a stalling machine does not use up.

It stops the server and its callers alike. Behind a stall of some tenths of a second the server
would take a caller that reads all the time for one that has read nothing.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest

from farebox.web.connections import Connection, OpenConnections
from support.awake_loop import AwakeLoop


@pytest.fixture
async def awake(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AwakeLoop]:
    """The loop by whose time connections time out."""
    awake, set_timeout = AwakeLoop(asyncio.get_running_loop()), OpenConnections.set_timeout

    def set_awake(
        self: OpenConnections,
        connection: Connection,
        seconds: float,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        set_timeout(self, connection, seconds, cast("asyncio.AbstractEventLoop", awake))

    monkeypatch.setattr(OpenConnections, "set_timeout", set_awake)
    yield awake
    awake.close()
