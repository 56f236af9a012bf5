"""One node of a network, and what its answers so far say of it."""

from enum import StrEnum
from typing import Final, Protocol

import structlog

from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.breaker import Breaker, BreakerState, served
from farebox.stellar.high_water_mark import is_behind
from farebox.stellar.rpc import RpcUnavailable, SorobanRpc
from farebox.stellar.start_check import check_node

AWAY: Final = "rpc_unavailable"
BEHIND: Final = "rpc_behind"
_UNHEARD_S: Final = 10.0  # a node nobody asked for so long is asked how it is
_ABOUT_THE_REQUEST: Final = frozenset({-32600, -32602})  # JSON-RPC errors any node would give

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Node(SorobanRpc, Protocol):
    """One node, which can be left."""

    async def close(self) -> None:
        """Every connection is closed."""
        ...


class Role(StrEnum):
    """What a node is to the operator."""

    PRIMARY = "primary"
    FALLBACK = "fallback"


class NodeStanding:
    """A node that is used once it passed the start check, and its breaker."""

    def __init__(
        self, network: Network, role: Role, node: Node, clock: Clock, relayer: Address
    ) -> None:
        self._network, self._role, self._clock = network, role, clock
        self._relayer = relayer
        self.node = node
        self.faults: tuple[str, ...] = (AWAY,)  # why it may not be used at all: not checked yet
        self._breaker = served()
        self._is_behind = False
        self._heard_at = 0.0

    @property
    def state(self) -> BreakerState:
        """How welcome a call is now."""
        return self._breaker.state(self._clock.monotonic())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What readiness says of it while another node serves."""
        held: tuple[str, ...] = ()
        if self.faults:
            held = self.faults
        elif self._breaker.open_until is not None:
            held = (BEHIND if self._is_behind else AWAY,)
        return tuple(f"{self._role}_{code}" for code in held)

    async def check(self) -> None:
        """Ask whether it is fit for the network, if that is not known; then it may be used."""
        if not self.faults:
            return
        before = self.faults
        try:
            faults = await check_node(self._network, self.node, self._relayer)
            self.faults = tuple(fault.code.value for fault in faults)
        except RpcUnavailable:
            self.faults, faults = (AWAY,), ()
        self._heard_at = self._clock.monotonic()
        if self.faults != before:
            for fault in faults:
                log.error("rpc.unfit", network=self._network, node=self._role, why=fault.sentence)

    async def ask_how_it_is(self, newest: int) -> None:
        """Ask for its ledger if nobody asked it anything lately, or its pause is over."""
        now = self._clock.monotonic()
        is_due = self._breaker.state(now) is BreakerState.HALF_OPEN
        is_unheard = self._breaker.open_until is None and now - self._heard_at > _UNHEARD_S
        if self.faults or not (is_due or is_unheard):
            return
        try:
            latest = await self.node.latest_ledger()
        except RpcUnavailable as outage:
            self.failed(outage)
        else:
            self.answered(latest.sequence, newest)

    def failed(self, outage: RpcUnavailable) -> None:
        """It gave no usable answer."""
        now = self._clock.monotonic()
        self._heard_at = now
        if outage.retry_after_s is not None:
            self._turn(self._breaker.after_asking_for_pause(now, outage.retry_after_s))
        elif outage.code not in _ABOUT_THE_REQUEST:
            self._turn(self._breaker.after_outage(now))
        self._is_behind = False

    def answered(self, ledger: int | None, newest: int) -> bool:
        """Whether its answer, as of `ledger`, is about now; None does not tell and is."""
        now = self._clock.monotonic()
        self._heard_at = now
        if ledger is None:
            return True
        self._is_behind = is_behind(ledger, newest)
        self._turn(self._breaker.after_stale_answer(now) if self._is_behind else served())
        return not self._is_behind

    def _turn(self, breaker: Breaker) -> None:
        was_open, is_open = self._breaker.open_until is not None, breaker.open_until is not None
        self._breaker = breaker
        if was_open != is_open:
            log.warning("rpc.node", network=self._network, node=self._role, is_out=is_open)
