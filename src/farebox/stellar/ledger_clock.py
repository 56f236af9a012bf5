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
_UNCONFIRMED_S: Final = 4.0  # two polls: nodes of one network confirm its newest ledger sooner
_LEDGERS_AHEAD: Final = 100

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
    not turn the clock back. Only where no answer confirms the newest ledger for some seconds, and
    the older ledgers advance, the clock starts over from them: the network was set back, or the
    newest ledger never existed.

    A ledger that is more than a hundred ahead of what the elapsed time allows is not believed
    while the clock is fresh; a stale clock starts over from it once it is seen to advance.
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
        self._confirmed_at = -math.inf  # monotonic: when an answer last named the newest ledger
        self._heard_at = -math.inf  # monotonic
        self._cadence_s = SLOWEST_CADENCE_S
        self._doubted_sequence = 0  # the last one named that is not believed
        self.lagging_answers = 0
        self.implausible_answers = 0
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
            self.lagging_answers += 1
            self._doubt(sequence, close_at, is_outlived=self._is_unconfirmed())
        elif sequence > newest[0] and not self._is_plausible(sequence):
            self.implausible_answers += 1
            self._doubt(sequence, close_at, is_outlived=self._is_stale())
        else:
            self._confirmed_at = self._clock.monotonic()
            if sequence > newest[0]:
                self._advance(sequence, close_at)

    def _is_plausible(self, sequence: int) -> bool:
        """Whether so many ledgers can have closed since the newest one was seen."""
        if not self._closes:
            return True
        elapsed_s = self._clock.monotonic() - self._seen_at
        closed = elapsed_s / min(self._cadence_s, SLOWEST_CADENCE_S)
        return sequence - self._closes[-1][0] <= closed + _LEDGERS_AHEAD

    def _advance(self, sequence: int, close_at: datetime) -> None:
        self._closes.append((sequence, close_at))
        while len(self._closes) > 1 and self._closes[1][0] <= sequence - _LEDGERS_KEPT:
            self._closes.popleft()
        self._seen_at = self._confirmed_at = self._clock.monotonic()
        self._cadence_s = observed_cadence(tuple(self._closes)) or self._cadence_s

    def _doubt(self, sequence: int, close_at: datetime, *, is_outlived: bool) -> None:
        """Start over from a ledger that disagrees, if it advances and outlived what it denies."""
        advances = sequence > self._doubted_sequence > 0
        self._doubted_sequence = sequence
        if not (advances and is_outlived):
            return
        log.warning("ledger_clock.started_over", network=self._network.value, ledger=sequence)
        self._closes.clear()  # the cadence stands until enough ledgers were seen again
        self._doubted_sequence = 0
        self._advance(sequence, close_at)

    def _is_unconfirmed(self) -> bool:
        return self._clock.monotonic() - self._confirmed_at > _UNCONFIRMED_S

    def _is_stale(self) -> bool:
        return self._clock.monotonic() - self._seen_at > self._stale_after_s
