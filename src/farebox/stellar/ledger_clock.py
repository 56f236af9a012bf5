"""Ledgers as a clock: the newest one, how fast they close, and seconds turned into ledgers."""

import math
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

import structlog

from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.stellar.rpc import LatestLedger, NodeHealth, RpcUnavailable

SLOWEST_CADENCE_S: Final = 5.0  # what clients assume when they cannot measure
_FASTEST_CADENCE_S: Final = 0.1  # several ledgers may close in one second
_LEDGERS_TO_JUDGE: Final = 20  # close times are whole seconds: fewer would tell little
_LEDGERS_KEPT: Final = 60
_LATE_LEDGERS: Final = 2
_STALE_AFTER_S: Final = 30.0  # what a node itself calls unhealthy

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class ClockStale(Outage):
    """No newer ledger was seen for so long that the last one says nothing about now."""

    def __init__(self, network: Network) -> None:
        super().__init__(network.value, f"no new ledger of {network} was seen lately")
        self.network = network


@dataclass(frozen=True, slots=True)
class LedgerReading:
    """The newest ledger seen.

    `close_at` is in whole seconds; `cadence_s` is seconds a ledger as observed, or until 20 ledgers
    were, as the node's history has it, or else 5; `age_s` is how long ago the ledger was first
    seen here.
    """

    sequence: int
    close_at: datetime
    cadence_s: float
    age_s: float

    def earliest_close(self, ledger: int) -> datetime:
        """The moment before which `ledger` is not expected to close."""
        ahead_s = max(0, ledger - self.sequence) * min(self.cadence_s, SLOWEST_CADENCE_S)
        return self.close_at + timedelta(seconds=ahead_s)


def ledgers_for(seconds: int, *, cadence_s: float, tolerance: int) -> int:
    """How many ledgers ahead an authorization of `seconds` may expire.

    A client that measured a slower network, or nothing at all, asks for no more than this.
    """
    return math.ceil(seconds / min(cadence_s, SLOWEST_CADENCE_S)) + tolerance


def observed_cadence(closes: tuple[tuple[int, datetime], ...]) -> float | None:
    """Seconds a ledger between the first and the last of `closes`, which rise in sequence.

    None when they are fewer than 20 ledgers apart. Single closes count for nothing: they are
    whole seconds, and several ledgers can share one.
    """
    if not closes or closes[-1][0] - closes[0][0] < _LEDGERS_TO_JUDGE:
        return None
    (first, began_at), (last, ended_at) = closes[0], closes[-1]
    return max(_FASTEST_CADENCE_S, (ended_at - began_at).total_seconds() / (last - first))


class Node(Protocol):
    """What the clock asks of a node."""

    async def latest_ledger(self) -> LatestLedger:
        """The newest ledger the node has applied."""
        ...


class LedgerClock:
    """The clock of one network: `run` keeps it, `now` reads it without a call to the node.

    Whoever hears of the newest ledger elsewhere tells it by `heard`; it asks only while nobody
    does.

    An answer older than one already seen comes from a node that lags: it is counted and does
    not turn the clock back. Only a clock that is stale anyway, and sees the older ledgers
    advance, starts over from them: the network itself was set back.
    """

    def __init__(
        self,
        network: Network,
        node: Node,
        clock: Clock,
        *,
        poll_s: float = 2.0,
        stale_after_s: float = _STALE_AFTER_S,
    ) -> None:
        self._network, self._node, self._clock = network, node, clock
        self._poll_s, self._stale_after_s = poll_s, stale_after_s
        self._closes: deque[tuple[int, datetime]] = deque()
        self._seen_at = -math.inf  # monotonic
        self._heard_at = -math.inf  # monotonic
        self._cadence_s = SLOWEST_CADENCE_S
        self._lagging_sequence = 0
        self.lagging_answers = 0
        self.failed_polls = 0
        self.node_answers = True  # as of the last poll

    def now(self) -> LedgerReading:
        """The newest ledger.

        Raises:
            ClockStale: none was seen yet, or none for the longest time allowed.
        """
        if self._is_stale():
            raise ClockStale(self._network)
        sequence, close_at = self._closes[-1]
        age_s = self._clock.monotonic() - self._seen_at
        return LedgerReading(sequence, close_at, self._cadence_s, age_s)

    def next_close_in(self) -> float | None:
        """Seconds until the next ledger is expected, below 0 when it is a little late.

        None when nobody can say: none was seen yet, or the next one is late by two more.
        """
        if not self._closes:
            return None
        due_in = self._seen_at + self._cadence_s - self._clock.monotonic()
        return due_in if due_in > -_LATE_LEDGERS * self._cadence_s else None

    def heard(self, sequence: int, close_at: datetime) -> None:
        """A node named this as its newest ledger just now."""
        self.node_answers = True
        self._heard_at = self._clock.monotonic()
        self._observe(sequence, close_at)

    def learn_cadence(self, health: NodeHealth, *, target_s: float | None) -> None:
        """Until closes were observed here, the cadence is what the node's history shows.

        Where that is too short, it is what the network aims at, if that is known.
        """
        history = (
            (health.oldest_ledger, health.oldest_close_at),
            (health.latest_ledger, health.latest_close_at),
        )
        if not self._closes:
            self._cadence_s = observed_cadence(history) or target_s or self._cadence_s

    async def run(self) -> None:
        """Poll until cancelled; an outage of the node is counted and polling goes on."""
        was_up = True
        while True:
            rest_s = self._heard_at + self._poll_s - self._clock.monotonic()
            if rest_s <= 0:
                await self.poll()
                rest_s = self._poll_s
            if self.node_answers != was_up:
                was_up = self.node_answers
                log.warning("ledger_clock.node", network=self._network.value, is_up=was_up)
            await self._clock.sleep(rest_s)

    async def poll(self) -> bool:
        """Ask once; whether the node answered."""
        try:
            latest = await self._node.latest_ledger()
        except RpcUnavailable:
            self.failed_polls += 1
            self.node_answers = False
            return False
        self.heard(latest.sequence, latest.close_at)
        return True

    def _observe(self, sequence: int, close_at: datetime) -> None:
        newest = self._closes[-1] if self._closes else (0, close_at)
        if sequence < newest[0] or close_at < newest[1]:
            self._lag(sequence, close_at)
        elif sequence > newest[0]:
            self._advance(sequence, close_at)

    def _advance(self, sequence: int, close_at: datetime) -> None:
        self._closes.append((sequence, close_at))
        while len(self._closes) > 1 and self._closes[1][0] <= sequence - _LEDGERS_KEPT:
            self._closes.popleft()
        self._seen_at = self._clock.monotonic()
        self._cadence_s = observed_cadence(tuple(self._closes)) or self._cadence_s

    def _lag(self, sequence: int, close_at: datetime) -> None:
        self.lagging_answers += 1
        advances = sequence > self._lagging_sequence > 0
        self._lagging_sequence = sequence
        if not (advances and self._is_stale()):
            return
        log.warning("ledger_clock.set_back", network=self._network.value)
        self._closes.clear()
        self._cadence_s, self._lagging_sequence = SLOWEST_CADENCE_S, 0
        self._advance(sequence, close_at)

    def _is_stale(self) -> bool:
        return self._clock.monotonic() - self._seen_at > self._stale_after_s
