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


async def test_resources_open_before_the_loops_and_close_in_reverse_after_them() -> None:
    trail = _Trail()
    services = Services(
        routes=[],
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


async def test_a_loop_that_dies_stops_the_service_and_is_raised_at_its_end() -> None:
    trail, stopped = _Trail(), asyncio.Event()

    async def dies() -> None:
        raise ValueError("planted")

    services = Services(routes=[], tasks=[Loop("clock", dies)], resources=[trail.resource("pool")])
    lifespan = Lifespan(services, stop=stopped.set)
    with pytest.raises(ValueError, match="planted"):
        async with lifespan(None):
            await stopped.wait()
            trail.steps.append("the last request is answered")
    assert trail.steps == ["open pool", "the last request is answered", "close pool"]
    assert isinstance(lifespan.failure, ValueError)


async def test_a_loop_that_returns_is_as_bad_as_one_that_dies() -> None:
    stopped = asyncio.Event()

    async def returns() -> None:
        return None

    lifespan = Lifespan(Services(routes=[], tasks=[Loop("clock", returns)]), stop=stopped.set)
    with pytest.raises(LoopEnded, match="clock"):
        async with lifespan(None):
            await stopped.wait()


async def test_a_resource_that_cannot_open_closes_those_before_it() -> None:
    trail = _Trail()

    @asynccontextmanager
    async def away() -> AsyncIterator[None]:
        if trail.steps:
            raise Outage("stellar:testnet", "the node is too old")
        yield

    services = Services(
        routes=[], tasks=[Loop("clock", trail.loop)], resources=[trail.resource("pool"), away()]
    )
    lifespan = Lifespan(services, stop=lambda: None)
    with pytest.raises(Outage):
        async with lifespan(None):
            raise AssertionError("it must not serve")
    assert trail.steps == ["open pool", "close pool"]
    assert isinstance(lifespan.failure, Outage)
