"""One node of a network: its client, start check, circuit breaker and stale responses."""

import math
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

import structlog

from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.stellar.start_check import check_node

OUTAGES_TO_OPEN: Final = 3  # in a row
FIRST_PAUSE_S: Final = 2.0
LONGEST_PAUSE_S: Final = 30.0  # also the longest a node's own Retry-After is heeded
MAX_LAG_LEDGERS: Final = 3  # what nodes of one network are apart when all is well
# The clock confirms the mark every two seconds. A ledger that no node confirms for longer was a
# node's mistake, or another network's.
_REMEMBERED_S: Final = 5.0


class BreakerState(IntEnum):
    """Whether the node is called; states earlier in the list are called first."""

    CLOSED = 0
    HALF_OPEN = 1  # the pause is over: the next call shows whether the node is back
    OPEN = 2
    FORBIDDEN = 3  # the node itself asked for a pause


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """Sends calls to another node while this one fails.

    Moments are monotonic seconds. A new breaker is closed; a current response replaces the breaker
    by a new one. Where there is no other node, only a pause that the node asked for is kept.
    """

    outages: int = 0  # in a row
    pauses: int = 0  # in a row, each twice as long as the one before
    open_until: float | None = None
    is_requested: bool = False

    def state(self, now: float) -> BreakerState:
        """The state at the moment `now`."""
        if self.open_until is None:
            return BreakerState.CLOSED
        if now >= self.open_until:
            return BreakerState.HALF_OPEN
        return BreakerState.FORBIDDEN if self.is_requested else BreakerState.OPEN

    def after_outage(self, now: float) -> "CircuitBreaker":
        """The breaker after an outage: open after three in a row, or after a failed trial."""
        state = self.state(now)
        if state >= BreakerState.OPEN:
            return self
        if state is BreakerState.CLOSED and self.outages + 1 < OUTAGES_TO_OPEN:
            return CircuitBreaker(outages=self.outages + 1)
        return self.after_stale_response(now)

    def after_stale_response(self, now: float) -> "CircuitBreaker":
        """The breaker after a stale response: open at once."""
        if self.state(now) >= BreakerState.OPEN:
            return self
        pause_s = min(FIRST_PAUSE_S * 2 ** min(self.pauses, 16), LONGEST_PAUSE_S)
        return CircuitBreaker(self.outages + 1, self.pauses + 1, now + pause_s)

    def after_requested_pause(self, now: float, seconds: float) -> "CircuitBreaker":
        """The breaker after a `Retry-After` of the node, half a minute at most."""
        until = now + min(seconds, LONGEST_PAUSE_S)
        return CircuitBreaker(self.outages + 1, self.pauses, until, is_requested=True)


@dataclass(slots=True)
class LedgerHighWaterMark:
    """The newest ledger of one network that any node reported; moments are monotonic seconds."""

    _sequence: int = 0
    _reported_at: float = -math.inf

    def newest(self, now: float) -> int:
        """The newest ledger reported lately; 0 when there is none."""
        return self._sequence if now - self._reported_at <= _REMEMBERED_S else 0

    def report(self, ledger: int, now: float) -> None:
        """Record that a node has this ledger."""
        if ledger >= self.newest(now):
            self._sequence, self._reported_at = ledger, now


def is_behind(ledger: int, newest: int) -> bool:
    """Whether a response as of `ledger` is stale; `newest` was known before the request.

    Compared with a ledger reported during the call, every slow response would be stale.
    """
    return ledger + MAX_LAG_LEDGERS < newest


_AWAY: Final = "rpc_unavailable"
_BEHIND: Final = "rpc_behind"
_IDLE_S: Final = 10.0  # a node without a call for so long is probed
_REQUEST_ERRORS: Final = frozenset({-32600, -32602})  # JSON-RPC errors any node would give

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class NodeRole(StrEnum):
    """The operator's order of preference."""

    PRIMARY = "primary"
    FALLBACK = "fallback"


class RpcNode:
    """A node that is used once it passed the start check, with its health."""

    def __init__(
        self, network: Network, role: NodeRole, client: SorobanRpc, clock: Clock, relayer: Address
    ) -> None:
        self._network, self.role, self._clock = network, role, clock
        self._relayer = relayer
        self.client = client
        self.faults: tuple[str, ...] = (_AWAY,)  # reasons why it is not used: not checked yet
        self._breaker = CircuitBreaker()
        self._is_behind = False
        self._called_at = 0.0

    @property
    def state(self) -> BreakerState:
        """The state of its circuit breaker now."""
        return self._breaker.state(self._clock.monotonic())

    @property
    def warnings(self) -> tuple[str, ...]:
        """The readiness warnings while another node serves."""
        codes = self.faults
        if not codes and self._breaker.open_until is not None:
            codes = (_BEHIND if self._is_behind else _AWAY,)
        return tuple(f"{self.role}_{code}" for code in codes)

    async def check(self) -> None:
        """Run the start check until it passes; then the node may be used."""
        if not self.faults:
            return
        before = self.faults
        try:
            faults = await check_node(self._network, self.client, self._relayer)
            self.faults = tuple(fault.code.value for fault in faults)
        except RpcUnavailable:
            self.faults, faults = (_AWAY,), ()
        self._called_at = self._clock.monotonic()
        if self.faults != before:
            for fault in faults:
                log.error("rpc.unfit", network=self._network, node=self.role, why=fault.sentence)

    async def probe(self, newest: int) -> None:
        """Ask for its newest ledger if it was not called lately, or its pause is over."""
        now = self._clock.monotonic()
        is_due = self._breaker.state(now) is BreakerState.HALF_OPEN
        is_idle = self._breaker.open_until is None and now - self._called_at > _IDLE_S
        if self.faults or not (is_due or is_idle):
            return
        try:
            latest = await self.client.latest_ledger()
        except RpcUnavailable as outage:
            self.record_outage(outage)
        else:
            self.record_response(latest.sequence, newest)

    def record_outage(self, outage: RpcUnavailable) -> None:
        """Record an outage, unless this process's own limit kept the call back."""
        if not outage.node_was_called:
            return
        now = self._clock.monotonic()
        self._called_at = now
        if outage.retry_after_s is not None:
            self._set_breaker(self._breaker.after_requested_pause(now, outage.retry_after_s))
        elif outage.code not in _REQUEST_ERRORS:
            self._set_breaker(self._breaker.after_outage(now))
        self._is_behind = False

    def record_response(self, ledger: int | None, newest: int) -> bool:
        """Record a response; whether it is current, not stale.

        `ledger` is the node's newest by the response; one without it (None) is current.
        """
        now = self._clock.monotonic()
        self._called_at = now
        if ledger is None:
            return True
        self._is_behind = is_behind(ledger, newest)
        stale = self._breaker.after_stale_response(now)
        self._set_breaker(stale if self._is_behind else CircuitBreaker())
        return not self._is_behind

    def _set_breaker(self, breaker: CircuitBreaker) -> None:
        was_open, is_open = self._breaker.open_until is not None, breaker.open_until is not None
        self._breaker = breaker
        if was_open != is_open:
            log.warning("rpc.node", network=self._network, node=self.role, is_out=is_open)
