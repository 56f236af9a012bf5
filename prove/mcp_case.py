"""Run one case: callers send messages to `/mcp` while database and upstream fail."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final

import aiohttp

from prove.database_link import DatabaseLink, LinkState
from prove.mcp_check import Received, judge
from prove.mcp_messages import Sent, generate_message
from prove.mcp_scenery import Scenery
from testing.machine import say

CALLERS: Final = 12
UNAVAILABLE: Final = "service_unavailable"
_ANSWER_S: Final = 40.0  # a paid call has thirty seconds
_KEPT_FAULTS: Final = 20
_SAYS_EVERY: Final = 5_000
_FAULTS: Final = (LinkState.STALLED, LinkState.DOWN)
_FAULT_S: Final = (0.3, 1.5)
_PAUSE_S: Final = (0.5, 3.0)
_SEEN_S: Final = 20.0  # a slow machine sends few messages in the time of a fault


@dataclass(frozen=True, slots=True)
class McpCase:
    """The size of a case."""

    seed: int
    count: int


@dataclass(slots=True)
class McpOutcome:
    """The responses of a case, and the faults in them."""

    case: McpCase
    statuses: Counter[int] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    faults_in_all: int = 0
    ids_mixed: int = 0
    left: int = 0  # callers that disconnected
    database_faults: int = 0
    upstream_requests: int = 0
    took_s: list[float] = field(default_factory=list)
    unavailable: asyncio.Event = field(default_factory=asyncio.Event)

    def fault(self, line: str, sent: Sent) -> None:
        """Record a fault with its message; only the first ones are kept."""
        self.faults_in_all += 1
        if len(self.faults) < _KEPT_FAULTS:
            self.faults.append(f"{line}: {sent.body[:300]!r}")
            say(self.faults[-1])


async def run_case(scenery: Scenery, case: McpCase) -> McpOutcome:
    """Send the messages of a case; every response is judged."""
    outcome, random, before = McpOutcome(case), Random(case.seed), scenery.upstream.reached
    numbers = iter(range(case.count))
    breaking = asyncio.create_task(_break_database(scenery.link, Random(case.seed), outcome))
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(CALLERS):
                group.create_task(_call(scenery, random, numbers, outcome))
    finally:
        breaking.cancel()
        await asyncio.gather(breaking, return_exceptions=True)
        await scenery.link.set(LinkState.OPEN)
    outcome.upstream_requests = scenery.upstream.reached - before
    return outcome


async def _break_database(link: DatabaseLink, random: Random, outcome: McpOutcome) -> None:
    """Let the database fail again and again; the first fault lasts until it is seen."""
    await link.set(LinkState.DOWN)
    outcome.database_faults += 1
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(outcome.unavailable.wait(), _SEEN_S)
    while True:
        await link.set(LinkState.OPEN)
        await asyncio.sleep(random.uniform(*_PAUSE_S))
        outcome.database_faults += 1
        await link.set(random.choice(_FAULTS))
        await asyncio.sleep(random.uniform(*_FAULT_S))


async def _call(
    scenery: Scenery, random: Random, numbers: Iterator[int], outcome: McpOutcome
) -> None:
    """Send messages over a connection of its own until none is left."""
    connector = aiohttp.TCPConnector(limit=1)
    async with aiohttp.ClientSession(scenery.service.url, connector=connector) as session:
        for number in numbers:
            if number and number % _SAYS_EVERY == 0:
                say(f"{number} of {outcome.case.count} sent")
            sent = generate_message(random, scenery.vocabulary, number)
            began = time.monotonic()
            try:
                received = await _send(session, sent)
            except (aiohttp.ClientError, TimeoutError) as fault:
                outcome.fault(f"no response ({type(fault).__name__})", sent)
                continue
            if received is None:
                outcome.left += 1
                continue
            outcome.took_s.append(time.monotonic() - began)
            _judge(scenery, sent, received, outcome)


def _judge(scenery: Scenery, sent: Sent, received: Received, outcome: McpOutcome) -> None:
    outcome.statuses[received.status] += 1
    found = judge(sent, received, scenery.reasons)
    if found.reason:
        outcome.reasons[found.reason] += 1
    if found.reason == UNAVAILABLE:
        outcome.unavailable.set()
    if received.status >= 500:
        outcome.fault(f"status {received.status}", sent)
    if found.is_mixed:
        outcome.ids_mixed += 1
        outcome.fault(f"of another message: {received.body[:300]!r}", sent)
    for line in found.faults:
        outcome.fault(line, sent)


async def _send(session: aiohttp.ClientSession, sent: Sent) -> Received | None:
    """Send a message; None when its caller left.

    Raises:
        TimeoutError: no response came.
    """
    headers = {"content-type": "application/json", **sent.headers}
    async with asyncio.timeout(sent.leaves_after_s or _ANSWER_S):
        with contextlib.suppress(*((asyncio.CancelledError,) if sent.leaves_after_s else ())):
            async with session.post("/mcp", data=sent.body, headers=headers) as response:
                return Received(response.status, await response.read())
    return None
