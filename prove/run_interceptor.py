"""Intercepts the calls of a scheduler: polls that find nothing are not counted."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import msgspec

from prove.environment import Replica
from prove.interceptor import Boundary, ConnectionCut, Interceptor
from prove.pg_frames import CATALOGS, Labels, RunStatements, Statements, has_rows

T = TypeVar("T")
POLLS: Final = ("sql WITH due", "sql WITH lost")  # claims, which mostly find nothing
# how a change of a plan ends its waiting runs, on a connection of any pool
_ENDS_RUNS: Final = "sql UPDATE automation_runs r SET state = $3, state_reason = $2, due_at = NULL"
SEND: Final = "sendTransaction"
_SIMULATE: Final = "simulateTransaction"
_BACKGROUND: Final = b"\0farebox-background\0"  # the pool that the runs are a share of


class SendWatch(Protocol):
    """Sees every envelope that really reaches the node."""

    async def __call__(self, envelope: str, forward: Callable[[], Awaitable[T]]) -> T:
        """Forward a call of `sendTransaction`; `envelope` is its base64."""
        ...


class PlanWatch(Protocol):
    """Sees the claims of runs, and the statement by which a change ends a plan's waiting runs."""

    async def claim(self, deliver: Callable[[], Awaitable[T]]) -> T:
        """Deliver a claim; most find nothing."""
        ...

    async def change(self, deliver: Callable[[], Awaitable[T]]) -> T:
        """Deliver the statement of a change."""
        ...


def is_poll(boundary: Boundary) -> bool:
    """Whether the call is a claim: it is counted once it has found a run."""
    return boundary.label.startswith(POLLS)


class RunInterceptor(Interceptor):
    """Counts the calls of runs; `down` are the sides, `sql` or `rpc`, that do not respond.

    A simulation that names a contract of `slow` (its 32 bytes) takes so many seconds longer.

    Claims hang while `may_claim` is not set: then the other replica has all runs.
    """

    def __init__(self, replica: str) -> None:
        super().__init__(replica)
        self.down: frozenset[str] = frozenset()
        self.send_watch: SendWatch | None = None
        self.plan_watch: PlanWatch | None = None
        self.slow: dict[bytes, float] = {}
        self.may_claim = asyncio.Event()
        self.may_claim.set()

    def labels_of(self, startup: bytes) -> Labels:
        """See `Interceptor`: only statements of automation are counted."""
        if _BACKGROUND in startup:
            return RunStatements()
        return Statements(are_the_catalogs=True)

    async def deliver_call(self, body: bytes, forward: Callable[[], Awaitable[T]]) -> T:
        """See `Interceptor`."""
        if self.send_watch is None and not self.slow:
            return await forward()
        call = msgspec.json.decode(body, type=dict[str, Any])
        if call["method"] == _SIMULATE:
            envelope = base64.b64decode(call["params"]["transaction"])
            await asyncio.sleep(sum(s for each, s in self.slow.items() if each in envelope))
        if call["method"] != SEND or self.send_watch is None:
            return await forward()
        return await self.send_watch(call["params"]["transaction"], forward)

    async def intercept(self, label: str, deliver: Callable[[], Awaitable[T]]) -> T:
        """See `Interceptor`."""
        side = label.removeprefix(CATALOGS).partition(" ")[0]
        if side in self.down:
            raise ConnectionCut
        watch = self.plan_watch
        if watch is not None and label.removeprefix(CATALOGS).startswith(_ENDS_RUNS):
            return await watch.change(partial(super().intercept, label, deliver))
        if not label.startswith(POLLS):
            return await super().intercept(label, deliver)
        await self.may_claim.wait()
        answer = await (deliver() if watch is None else watch.claim(deliver))
        if isinstance(answer, bytes) and not has_rows(answer):
            return answer

        async def delivered() -> T:
            return answer

        return await super().intercept(label, delivered)


def run_interceptor_of(replica: Replica) -> RunInterceptor:
    """Return the interceptor of a replica that runs automation."""
    if not isinstance(replica.interceptor, RunInterceptor):
        raise TypeError(replica.interceptor)
    return replica.interceptor
