"""A flood of verifications with slow simulations."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from farebox.kernel.slots import Requester
from farebox.stellar.rpc import RawSimulation
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.simulation_slots import (
    SimulationPurpose,
    SimulationSlots,
    limits_of_purposes,
)
from farebox.x402.reasons import Reason
from support import node_proxy
from support.asgi import Answer, AsgiClient
from support.payments import Json
from support.stage import Stage, own_relayer, service
from testing.waiting import until

SLOTS: Final = 64  # the default
HALF: Final = SLOTS // 2  # all that verifications may have, and all connections of the control
SIMULATE: Final = "simulateTransaction"
NAP_S: Final = 0.02
SLOW_S: Final = 3.0  # a contract account that burns what the network allows
FLOODERS: Final = 100
ADDRESSES: Final = 5  # they ask from
SETTLEMENTS: Final = 4
AT_MOST_S: Final = 120.0  # far more than either test takes on a busy machine
SETTLE_S: Final = 12.0
REFUSED_S: Final = limits_of_purposes(SLOTS)[SimulationPurpose.VERIFICATION].wait_s + 2
VERDICT: Final = {"isValid", "invalidReason", "invalidMessage", "payer"}


@dataclass
class Flooded:
    """A service whose node takes seconds for some simulations, and how the flood is answered."""

    stage: Stage
    answers: list[tuple[Answer, float, float]] = field(default_factory=list)  # with from and to
    stalls: list[tuple[float, float]] = field(default_factory=list)  # when, and for how long
    at_once: Counter[str] = field(default_factory=Counter)
    most: int = 0
    slow: set[str] = field(default_factory=set)  # envelopes; empty: every one
    is_on: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def simulate(self, call: node_proxy.Call, forward: node_proxy.Forward) -> Json:
        """The node's answer, late where it is a slow one."""
        self.at_once[SIMULATE] += 1
        self.most = max(self.most, self.at_once[SIMULATE])
        try:
            if self.is_on and (not self.slow or call.params["transaction"] in self.slow):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.over.wait(), SLOW_S)
            return await forward()
        finally:
            self.at_once[SIMULATE] -= 1

    async def flood(self, number: int, body: Json) -> None:
        """Ask one verification after the other until it is over."""
        address = {"x-forwarded-for": f"198.51.100.{number % ADDRESSES}"}
        loop = asyncio.get_running_loop()
        while not self.over.is_set():
            began = loop.time()
            answer = await self.stage.client.post("/verify", body, address)
            self.answers.append((answer, began, loop.time()))

    async def notice_stalls(self) -> None:
        """Record how late a short sleep of this event loop ends: the machine's time, not a wait."""
        loop = asyncio.get_running_loop()
        while not self.over.is_set():
            due = loop.time() + NAP_S
            await asyncio.sleep(NAP_S)
            self.stalls.append((loop.time(), loop.time() - due))

    def waited_s(self, began: float, ended: float) -> float:
        """The seconds between both times in which this event loop did not stall."""
        return ended - began - sum(late for at, late in self.stalls if began < at < ended)

    async def settle(self) -> tuple[Json, float]:
        """Settle a new payment of another payer; return the outcome and the latency."""
        body = (await self.stage.draft()).request()
        began = asyncio.get_running_loop().time()
        answer = await self.stage.client.post("/settle", body, {"x-forwarded-for": "192.0.2.1"})
        return answer.json(), asyncio.get_running_loop().time() - began


@asynccontextmanager
async def flooded(stage: Stage, *, only_theirs_is_slow: bool) -> AsyncIterator[Flooded]:
    """The service while a hundred callers verify one payment over and over."""
    environment = stage.environment | await own_relayer(stage)
    environment |= {"FAREBOX_TRUSTED_PROXIES": "127.0.0.1"}
    async with asyncio.timeout(AT_MOST_S), service(environment) as client:
        using = Flooded(Stage(client, stage.networks, environment))
        body = (await using.stage.draft(amount=7_777)).request()
        if only_theirs_is_slow:
            using.slow.add(await _simulated(using.stage, client, body))
        stage.node().on(SIMULATE, using.simulate)
        using.is_on = True
        pests = [asyncio.create_task(using.flood(n, body)) for n in range(FLOODERS)]
        pests.append(asyncio.create_task(using.notice_stalls()))
        try:
            await until(lambda: using.at_once[SIMULATE] >= HALF)
            yield using
        finally:
            using.over.set()
            await asyncio.gather(*pests)


async def _simulated(stage: Stage, client: AsgiClient, body: Json) -> str:
    """The envelope that the node is handed for this payment, the same each time."""
    stage.node().calls.clear()
    assert (await client.post("/verify", body)).json()["isValid"] is True
    [call] = [each for each in stage.node().calls if each.method == SIMULATE]
    return str(call.params["transaction"])


async def test_settlements_go_on_under_a_flood_of_slow_verifications(stage: Stage) -> None:
    """The node is slow for the settlements too. Control: below, where it is not."""
    async with flooded(stage, only_theirs_is_slow=False) as using:
        outcomes = await asyncio.gather(*(using.settle() for _ in range(SETTLEMENTS)))
        honest = (await using.stage.draft()).request()
        verdict = await using.stage.client.post("/verify", honest, {"x-forwarded-for": "192.0.2.2"})
        ready = await using.stage.client.get("/health/ready")
    assert [outcome["success"] for outcome, _ in outcomes] == [True] * SETTLEMENTS, outcomes
    assert max(took_s for _, took_s in outcomes) < SETTLE_S
    assert verdict.json()["isValid"] is True, "another client's verification has its turn"
    assert ready.status == 200, "our own bound is no outage of the node"
    assert using.most <= SLOTS
    refused = [answered for answer, *answered in using.answers if _is_refused(answer)]
    assert refused, "the control: there was more than there was room for"
    assert max(using.waited_s(*answered) for answered in refused) < REFUSED_S


def _is_refused(answer: Answer) -> bool:
    """Whether it is a failing verdict, whole, that says to come again later; or a good one."""
    assert answer.status == 200
    body = answer.json()
    assert set(body) <= VERDICT
    if body["isValid"]:
        return False
    assert body["invalidReason"] == Reason.NETWORK_UNAVAILABLE, json.dumps(body)
    return True


async def test_control_flood_stops_settlements_without_reserved_slots(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: one pool of connections for every call, and no bound in front of it."""

    async def simulate(self: Any, envelope: str, requester: Requester) -> RawSimulation:
        del requester
        simulation: RawSimulation = await self._node.simulate(envelope)
        return simulation

    opened = HttpSorobanRpc.__init__

    def open_one(self: Any, *args: Any, **options: Any) -> None:
        opened(self, *args, **options)
        self._simulations = self._session

    monkeypatch.setattr(SimulationSlots, "simulate", simulate)
    monkeypatch.setattr(HttpSorobanRpc, "__init__", open_one)
    async with flooded(stage, only_theirs_is_slow=True) as using:
        outcome, _ = await using.settle()
    assert outcome["success"] is False
    assert outcome["errorReason"] in (Reason.NETWORK_UNAVAILABLE, Reason.SETTLEMENT_PENDING)
