"""The lifespan: resources and loops, their order and their failures."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from farebox.app.assembly import Loop, Services
from farebox.app.lifespan import Lifespan, LoopEnded
from farebox.kernel.errors import Outage


class _Trail:
    """What happened, in order."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    @asynccontextmanager
    async def resource(self, name: str) -> AsyncIterator[None]:
        self.steps.append(f"open {name}")
        try:
            yield
        finally:
            self.steps.append(f"close {name}")

    async def loop(self) -> None:
        self.steps.append("loop begins")
        try:
            await asyncio.Event().wait()
        finally:
            self.steps.append("loop ends")


async def test_lifespan_opens_resources_before_loops_and_closes_in_reverse() -> None:
    trail = _Trail()
    services = Services(
        endpoints=[],
        tasks=[Loop("clock", trail.loop)],
        resources=[trail.resource("pool"), trail.resource("client")],
    )
    async with Lifespan(services, stop=lambda: None)(None):
        await asyncio.sleep(0)
        trail.steps.append("serving")
    assert trail.steps == [
        "open pool",
        "open client",
        "loop begins",
        "serving",
        "loop ends",
        "close client",
        "close pool",
    ]


async def test_lifespan_stops_service_and_raises_when_loop_fails() -> None:
    trail, stopped = _Trail(), asyncio.Event()

    async def dies() -> None:
        raise ValueError("planted")

    services = Services(
        endpoints=[], tasks=[Loop("clock", dies)], resources=[trail.resource("pool")]
    )
    lifespan = Lifespan(services, stop=stopped.set)
    with pytest.raises(ValueError, match="planted"):
        async with lifespan(None):
            await stopped.wait()
            trail.steps.append("the last request is answered")
    assert trail.steps == ["open pool", "the last request is answered", "close pool"]
    assert isinstance(lifespan.failure, ValueError)


async def test_lifespan_stops_service_when_loop_returns() -> None:
    stopped = asyncio.Event()

    async def returns() -> None:
        return None

    lifespan = Lifespan(Services(endpoints=[], tasks=[Loop("clock", returns)]), stop=stopped.set)
    with pytest.raises(LoopEnded, match="clock"):
        async with lifespan(None):
            await stopped.wait()


async def test_lifespan_closes_opened_resources_when_one_fails_to_open() -> None:
    trail = _Trail()

    @asynccontextmanager
    async def away() -> AsyncIterator[None]:
        if trail.steps:
            raise Outage("stellar:testnet", "the node is too old")
        yield

    services = Services(
        endpoints=[], tasks=[Loop("clock", trail.loop)], resources=[trail.resource("pool"), away()]
    )
    lifespan = Lifespan(services, stop=lambda: None)
    with pytest.raises(Outage):
        async with lifespan(None):
            raise AssertionError("it must not serve")
    assert trail.steps == ["open pool", "close pool"]
    assert isinstance(lifespan.failure, Outage)
