"""Stop work whose caller has left."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

T = TypeVar("T")


async def run_while_connected(work: Coroutine[Any, Any, T], receive: Receive) -> T:
    """Return the result of `work`, or cancel it when the caller disconnects.

    The request's body was read before: the next message can only be the disconnect.

    Raises:
        ClientDisconnect: the caller has left.
    """
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(receive())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)
