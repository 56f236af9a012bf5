"""What goes wrong during a soak, one thing after the other, by the dice of a seed."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from prove.arena import Arena
from prove.warm import ended

_LOOK: Final = ("getTransaction", "getTransactions")
# what a node does for a while; each is set, left alone and cleared again
NODE: Final[tuple[tuple[Mapping[str, object], Mapping[str, object]], ...]] = (
    ({"kind": "delay", "ms": 300}, {"probability": 0.5}),
    ({"kind": "drop", "when": "before"}, {"probability": 0.3}),
    ({"kind": "drop", "when": "after"}, {"probability": 0.3}),
    ({"kind": "http", "status": 503}, {"probability": 0.4}),
    ({"kind": "http", "status": 429, "retry_after_s": 1}, {"probability": 0.4}),
    ({"kind": "rpc_error", "code": -32603, "message": "busy"}, {"probability": 0.4}),
    ({"kind": "try_again_later"}, {"probability": 0.6}),
    ({"kind": "stale", "ledgers": 3}, {"probability": 0.5}),
    ({"kind": "two_nodes", "ledgers": 2}, {}),
    ({"kind": "ingestion_delay", "ledgers": 2}, {"methods": _LOOK}),
)
_STOP_S: Final = 30.0
_SETTLED_AGAIN_S: Final = 0.5


class Trouble:
    """Makes trouble until it is cancelled; `marks` tell when, in seconds of the loop's clock."""

    def __init__(self, arena: Arena, seed: int, *, every_s: float) -> None:
        self._arena, self._dice, self._every_s = arena, random.Random(seed), every_s
        self._seed, self._started = seed, 1
        self.marks: list[float] = []
        self.made: dict[str, int] = {}

    async def run(self) -> None:
        """One fault after the other, with a pause between them."""
        kinds: tuple[tuple[Callable[[], Awaitable[None]], int], ...] = (
            (self._node, 6),
            (self._kill, 2),
            (self._stop, 1),
            (self._sever, 2),
            (self._terminate, 1),
        )
        choices, weights = zip(*kinds, strict=True)
        while True:
            await asyncio.sleep(self._every_s * self._dice.uniform(0.5, 1.5))
            (make,) = self._dice.choices(choices, weights)
            self.marks.append(time.monotonic())
            name = make.__name__.removeprefix("_")
            self.made[name] = self.made.get(name, 0) + 1
            await make()

    async def _node(self) -> None:
        effect, rule = self._dice.choice(NODE)
        number = await self._arena.devnet.fault(
            effect, **rule, **({} if "probability" not in rule else {"seed": self._seed})
        )
        await asyncio.sleep(self._every_s * self._dice.uniform(0.3, 0.8))
        await self._arena.devnet.clear_faults(number)

    async def _kill(self) -> None:
        """The second replica dies and another takes its place; the first is watched, and lives."""
        await self._arena.alive[-1].kill()
        await asyncio.sleep(self._dice.uniform(0.0, 1.0))
        await self._another()

    async def _stop(self) -> None:
        """The second replica is told to stop, in order, and another takes its place."""
        leaving = self._arena.alive[-1]
        leaving.is_alive = False
        os.kill(leaving.process_id, signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP_S):
                await ended(leaving.process_id)
        except TimeoutError:
            await leaving.kill()
            raise
        await self._another()

    async def _another(self) -> None:
        self._started += 1
        await self._arena.start(f"replica-{self._started}")

    async def _sever(self) -> None:
        """The network between a replica and its database breaks."""
        self._dice.choice(self._arena.alive).sql.sever()
        await asyncio.sleep(_SETTLED_AGAIN_S)

    async def _terminate(self) -> None:
        """The database throws everybody out, as when it is restarted."""
        await self._arena.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name LIKE 'farebox%' AND datname = current_database()"
        )
        await asyncio.sleep(_SETTLED_AGAIN_S)
