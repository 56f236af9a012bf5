"""Slots for simulations on one network: how many run at once, in all and for each client.

A simulation may keep a node busy for seconds where a contract account burns what the network
allows, and any caller may cause one. So verifications never take the slots kept for settlements,
what nobody pays for never takes those of payments and runs, one client never takes all of them, and
a simulation that gets no slot in time is refused before any node is called.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import Final

from farebox.kernel.networks import Network
from farebox.kernel.slots import NoSlot, Requester, Share, SlotLimits, Slots
from farebox.stellar.rpc import RawSimulation, RpcUnavailable
from farebox.stellar.soroban_rpc import SorobanRpc


class SimulationPurpose(IntEnum):
    """The purpose of a simulation, the more urgent first."""

    SETTLEMENT = 0
    VERIFICATION = 1
    AUTOMATION = 2  # of runs and installations
    POLL = 3  # whether the condition of a plan holds
    PREVIEW = 4  # of plans and wrappers, before anything is paid


_SENT: Final = (SimulationPurpose.SETTLEMENT, SimulationPurpose.AUTOMATION)  # afterwards


_current: ContextVar[Requester | None] = ContextVar("simulation_requester", default=None)


@contextmanager
def simulating_for(purpose: SimulationPurpose, client: str) -> Iterator[None]:
    """Set what `current_requester` returns, at whatever depth.

    Previews and polls run through the parts that build runs, and must not take the slots of runs.
    """
    token = _current.set(Requester(purpose, Share(client)))
    try:
        yield
    finally:
        _current.reset(token)


def current_requester() -> Requester | None:
    """Return the requester that `simulating_for` has set; None outside."""
    return _current.get()


class NoSimulationSlot(RpcUnavailable):
    """No slot became free in time: this service is busy, and no node was called."""

    def __init__(self, network: Network) -> None:
        text = f"no node of {network} was called: too many simulations are under way"
        super().__init__(network, text, certainly_not_sent=True, node_was_called=False)


def limits_of_purposes(total: int) -> Mapping[IntEnum, SlotLimits]:
    """The limits of each purpose out of `total` slots.

    Verifications have half of them at most, runs of plans a quarter, polls and previews an eighth.
    """
    half, quarter, eighth = total // 2, total // 4, max(1, total // 8)
    unpaid = SlotLimits(eighth, per_client=max(1, eighth // 4), wait_s=4.0, next_wait_s=4.0)
    return {
        SimulationPurpose.SETTLEMENT: SlotLimits(
            total, per_client=half, wait_s=10.0, next_wait_s=10.0
        ),
        SimulationPurpose.VERIFICATION: SlotLimits(
            half, per_client=quarter, wait_s=4.0, next_wait_s=3.0
        ),
        SimulationPurpose.AUTOMATION: SlotLimits(
            quarter, per_client=max(1, quarter // 2), wait_s=10.0, next_wait_s=10.0
        ),
        SimulationPurpose.POLL: unpaid,
        SimulationPurpose.PREVIEW: unpaid,
    }


class SimulationSlots:
    """Simulates through a node as soon as the requester has a slot."""

    def __init__(self, network: Network, node: SorobanRpc, total: int) -> None:
        self._network, self._node = network, node
        self._slots = Slots(total, limits_of_purposes(total))

    async def simulate(
        self, envelope: str, requester: Requester, *, within_s: float | None = None
    ) -> RawSimulation:
        """Run the base64 `envelope` without effect.

        Raises:
            NoSimulationSlot: no slot became free in time.
            RpcUnavailable: the node gave no usable answer.
            TimeoutError: the node took longer than `within_s`; a wait for a slot does not count.
        """
        async with self._slot(requester), asyncio.timeout(within_s):
            if requester.purpose in _SENT:
                return await self._node.simulate_to_send(envelope)
            return await self._node.simulate(envelope)

    async def record(self, envelope: str, requester: Requester) -> RawSimulation:
        """Run the base64 `envelope` without effect, and record the authorizations that it needs.

        Raises:
            NoSimulationSlot, RpcUnavailable: as `simulate`.
        """
        async with self._slot(requester):
            return await self._node.simulate_recording(envelope)

    @asynccontextmanager
    async def _slot(self, requester: Requester) -> AsyncIterator[None]:
        try:
            async with self._slots.hold(requester):
                yield
        except NoSlot:
            raise NoSimulationSlot(self._network) from None
