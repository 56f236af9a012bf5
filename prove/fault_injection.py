"""Injects random faults during a soak, one after the other."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from prove.environment import Environment
from prove.fork_server import wait_until_ended

_LOOK: Final = ("getTransaction", "getTransactions")
# faults of a node; each is set for a while and cleared again
NODE_FAULTS: Final[tuple[tuple[Mapping[str, object], Mapping[str, object]], ...]] = (
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
_RECOVERY_S: Final = 0.5


class FaultInjector:
    """Injects faults until it is cancelled; `marks` are their times, by `time.monotonic()`."""

    def __init__(self, environment: Environment, seed: int, *, every_s: float) -> None:
        self._environment, self._rng, self._every_s = environment, random.Random(seed), every_s
        self._seed, self._replicas_started = seed, 1
        self.marks: list[float] = []
        self.counts: dict[str, int] = {}

    async def run(self) -> None:
        """Inject one fault after the other, with a pause between them."""
        kinds: tuple[tuple[Callable[[], Awaitable[None]], int], ...] = (
            (self._node, 6),
            (self._kill, 2),
            (self._stop, 1),
            (self._sever, 2),
            (self._terminate, 1),
        )
        choices, weights = zip(*kinds, strict=True)
        while True:
            await asyncio.sleep(self._every_s * self._rng.uniform(0.5, 1.5))
            (inject,) = self._rng.choices(choices, weights)
            self.marks.append(time.monotonic())
            name = inject.__name__.removeprefix("_")
            self.counts[name] = self.counts.get(name, 0) + 1
            await inject()

    async def _node(self) -> None:
        effect, rule = self._rng.choice(NODE_FAULTS)
        number = await self._environment.devnet.fault(
            effect, **rule, **({} if "probability" not in rule else {"seed": self._seed})
        )
        await asyncio.sleep(self._every_s * self._rng.uniform(0.3, 0.8))
        await self._environment.devnet.clear_faults(number)

    async def _kill(self) -> None:
        """Kill the second replica and start another; the first one is sampled and lives."""
        await self._environment.alive[-1].kill()
        await asyncio.sleep(self._rng.uniform(0.0, 1.0))
        await self._start_another()

    async def _stop(self) -> None:
        """Stop the second replica by SIGTERM and start another."""
        replica = self._environment.alive[-1]
        replica.is_alive = False
        os.kill(replica.process_id, signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP_S):
                await wait_until_ended(replica.process_id)
        except TimeoutError:
            await replica.kill()
            raise
        await self._start_another()

    async def _start_another(self) -> None:
        self._replicas_started += 1
        await self._environment.start(f"replica-{self._replicas_started}")

    async def _sever(self) -> None:
        """Break the connections between a replica and its database."""
        self._rng.choice(self._environment.alive).sql.break_connections()
        await asyncio.sleep(_RECOVERY_S)

    async def _terminate(self) -> None:
        """Terminate all connections in the database, as a restart does."""
        await self._environment.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name LIKE 'farebox%' AND datname = current_database()"
        )
        await asyncio.sleep(_RECOVERY_S)
