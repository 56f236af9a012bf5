"""The ledger clock: the newest ledger, the cadence, and seconds turned into ledgers."""

import math
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

import structlog

from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.stellar.rpc import NodeHealth, RpcUnavailable
from farebox.stellar.soroban_rpc import SorobanRpc

SLOWEST_CADENCE_S: Final = 5.0  # the assumption of clients that cannot measure
FASTEST_CADENCE_S: Final = 0.1  # several ledgers may close in one second
_LEDGERS_TO_JUDGE: Final = 20
_SECONDS_TO_JUDGE: Final = 20  # close times are whole seconds: an error of a twentieth at most
_LEDGERS_KEPT: Final = 60
_KEPT_S: Final = 60.0  # on our own clock, however fast ledgers close
_LATE_LEDGERS: Final = 2
_POLLS_OF_AN_OUTAGE: Final = 2  # in a row; a single one fails in a busy process, or at a busy node
_STALE_AFTER_S: Final = 30.0  # a node calls itself unhealthy then
_UNCONFIRMED_S: Final = 4.0  # two polls: nodes of one network confirm its newest ledger sooner
_LEDGERS_AHEAD: Final = 100
_LEAP_LEDGERS: Final = 3  # more than have closed by the pace: nodes of one network are so far apart
_LEDGERS_TO_SPARE: Final = 2
_PACE_DIFFERS_S: Final = 10.0  # close times against our own: a poll is late by less

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class ClockStale(Outage):
    """No newer ledger was seen for too long to know the present one."""

    def __init__(self, network: Network) -> None:
        super().__init__(network.value, f"no new ledger of {network} was seen lately")
        self.network = network


@dataclass(frozen=True, slots=True)
class LedgerReading:
    """The newest ledger seen.

    `close_at` is in whole seconds. `cadence_s` is seconds a ledger: as observed here, before 20
    ledgers and 20 seconds were observed as in the node's history, or else 5. `age_s` is the time
    since the ledger was first seen here. `target_s` is the network's target close time when the
    clock started. `is_confirmed` is false while only one look has named a ledger so far from those
    before it: a node may be wrong about it, and nothing is refused for good by it.
    """

    sequence: int
    close_at: datetime
    cadence_s: float
    age_s: float
    target_s: float = SLOWEST_CADENCE_S
    is_confirmed: bool = True

    def earliest_close(self, ledger: int) -> datetime:
        """The moment before which `ledger` is not expected to close."""
        ahead_s = max(0, ledger - self.sequence) * min(self.cadence_s, SLOWEST_CADENCE_S)
        return self.close_at + timedelta(seconds=ahead_s)

    def time_until(self, ledger: int) -> float:
        """The seconds from now before which `ledger` is not expected to close."""
        return (self.earliest_close(ledger) - self.close_at).total_seconds() - self.age_s

    def shortest_bound_s(self) -> float:
        """The least seconds to a time bound: nodes require it past the ledger after next."""
        return _LEDGERS_TO_SPARE * math.ceil(self.target_s)


def ledgers_for(seconds: int, *, cadence_s: float, tolerance: int) -> int:
    """The number of ledgers ahead in which an authorization of `seconds` may expire.

    A client that measured a slower network, or none, requests no more than this.
    """
    return math.ceil(seconds / min(cadence_s, SLOWEST_CADENCE_S)) + tolerance


def observed_cadence(closes: tuple[tuple[int, datetime], ...]) -> float | None:
    """Seconds a ledger between the first and the last of `closes`, which rise in sequence.

    None when they are fewer than 20 ledgers or 20 seconds apart. Single closes are not measured:
    close times are whole seconds, and several ledgers can share one.
    """
    if not closes:
        return None
    (first, began_at), (last, ended_at) = closes[0], closes[-1]
    passed_s = (ended_at - began_at).total_seconds()
    if last - first < _LEDGERS_TO_JUDGE or passed_s < _SECONDS_TO_JUDGE:
        return None
    return max(FASTEST_CADENCE_S, passed_s / (last - first))


class Ledgers(Protocol):
    """The ledger clock of one network, read without a call."""

    def now(self) -> LedgerReading:
        """The newest ledger.

        Raises:
            ClockStale: none was seen yet, or none for the longest time allowed.
        """
        ...


class LedgerClock:
    """The clock of one network: `run` updates it, `now` reads it without a call to the node.

    A caller that learns the newest ledger from another response passes it to `report`; the clock
    polls only when there was no report for `poll_s`.

    A response older than one already seen comes from a node that lags: it is counted and does not
    set the clock back. If no response confirms the newest ledger for some seconds and the older
    ledgers advance, the clock restarts from them: the network was set back, or the newest ledger
    never existed.

    A ledger more than a hundred ahead of the elapsed time is ignored while the clock is fresh; a
    stale clock restarts from it once it advances. One that is less far ahead is taken, and not
    confirmed before a later ledger follows it at the pace of the network. The cadence is taken from
    close times only while they pass as fast as our own time.
    """

    def __init__(
        self,
        network: Network,
        node: SorobanRpc,
        clock: Clock,
        *,
        poll_s: float = 2.0,
        stale_after_s: float = _STALE_AFTER_S,
    ) -> None:
        self._network, self._node, self._clock = network, node, clock
        self._poll_s, self._stale_after_s = poll_s, stale_after_s
        self._closes: deque[tuple[int, datetime]] = deque()
        self._seen: deque[float] = deque()  # monotonic, one for each of the closes
        self._is_confirmed = True
        self._seen_at = -math.inf  # monotonic
        self._confirmed_at = -math.inf  # monotonic: the last response with the newest ledger
        self._reported_at = -math.inf  # monotonic
        self._cadence_s = self._target_s = SLOWEST_CADENCE_S
        self._ignored_sequence = 0  # the last one that was ignored
        self.lagging_answers = 0
        self.implausible_answers = 0
        self.failed_polls = 0
        self._failed_in_row = 0

    @property
    def node_answers(self) -> bool:
        """Whether the node answered one of the last two polls."""
        return self._failed_in_row < _POLLS_OF_AN_OUTAGE

    def now(self) -> LedgerReading:
        """The newest ledger.

        Raises:
            ClockStale: none was seen yet, or none for the longest time allowed.
        """
        if self._is_stale():
            raise ClockStale(self._network)
        sequence, close_at = self._closes[-1]
        age_s = self._clock.monotonic() - self._seen_at
        return LedgerReading(
            sequence, close_at, self._cadence_s, age_s, self._target_s, self._is_confirmed
        )

    def next_close_in(self) -> float | None:
        """Seconds until the next ledger is expected, below 0 when it is a little late.

        None when it cannot be known: none was seen yet, or the next one is late by two more.
        """
        if not self._closes:
            return None
        due_in = self._seen_at + self._cadence_s - self._clock.monotonic()
        return due_in if due_in > -_LATE_LEDGERS * self._cadence_s else None

    def report(self, sequence: int, close_at: datetime) -> None:
        """Record the newest ledger that a node has just named."""
        self._failed_in_row = 0
        self._reported_at = self._clock.monotonic()
        self._observe(sequence, close_at)

    def learn_cadence(self, health: NodeHealth, *, target_s: float | None) -> None:
        """Take the cadence from the node's history until closes were observed here.

        Where the history is too short, take the network's target, if that is known.
        """
        history = (
            (health.oldest_ledger, health.oldest_close_at),
            (health.latest_ledger, health.latest_close_at),
        )
        self._target_s = target_s or self._target_s
        if not self._closes:
            self._cadence_s = observed_cadence(history) or target_s or self._cadence_s

    async def run(self) -> None:
        """Poll until cancelled; an outage of the node is counted and polling goes on."""
        was_up = True
        while True:
            rest_s = self._reported_at + self._poll_s - self._clock.monotonic()
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
            self._failed_in_row += 1
            return False
        self.report(latest.sequence, latest.close_at)
        return True

    def _observe(self, sequence: int, close_at: datetime) -> None:
        newest = self._closes[-1] if self._closes else (0, close_at)
        if sequence < newest[0] or close_at < newest[1]:
            self.lagging_answers += 1
            self._consider_restart(sequence, close_at, is_outlived=self._is_unconfirmed())
        elif sequence > newest[0] and not self._is_within(sequence, _LEDGERS_AHEAD):
            self.implausible_answers += 1
            self._consider_restart(sequence, close_at, is_outlived=self._is_stale())
        else:
            self._confirmed_at = self._clock.monotonic()
            if sequence > newest[0]:
                self._is_confirmed = self._is_within(sequence, _LEAP_LEDGERS)
                if self._is_stale() or not self._is_within(sequence, _LEDGERS_TO_JUDGE):
                    self._forget_closes()  # a time without ledgers says nothing about their pace
                self._advance(sequence, close_at)

    def _is_within(self, sequence: int, more: int) -> bool:
        """Whether so many ledgers, and `more`, can have closed since the newest one was seen."""
        if not self._closes:
            return True
        elapsed_s = self._clock.monotonic() - self._seen_at
        closed = elapsed_s / min(self._cadence_s, SLOWEST_CADENCE_S)
        return sequence - self._closes[-1][0] <= closed + more

    def _advance(self, sequence: int, close_at: datetime) -> None:
        self._seen_at = self._confirmed_at = self._clock.monotonic()
        self._closes.append((sequence, close_at))
        self._seen.append(self._seen_at)
        while self._has_enough_after_first(sequence):
            self._closes.popleft()
            self._seen.popleft()
        passed_s = (self._closes[-1][1] - self._closes[0][1]).total_seconds()
        if abs(passed_s - (self._seen[-1] - self._seen[0])) <= _PACE_DIFFERS_S:
            spanned = (self._closes[0], self._closes[-1])
            self._cadence_s = observed_cadence(spanned) or self._cadence_s

    def _has_enough_after_first(self, sequence: int) -> bool:
        """Whether the closes after the first one are many enough, and reach far enough back."""
        if len(self._closes) == 1:
            return False
        reaches_back_s = self._seen_at - self._seen[1]
        return self._closes[1][0] <= sequence - _LEDGERS_KEPT and reaches_back_s >= _KEPT_S

    def _forget_closes(self) -> None:
        """Begin to observe anew; the cadence is used until enough ledgers were seen again."""
        self._closes.clear()
        self._seen.clear()

    def _consider_restart(self, sequence: int, close_at: datetime, *, is_outlived: bool) -> None:
        """Restart from a ledger that contradicts the newest, if it advances and `is_outlived`."""
        advances = sequence > self._ignored_sequence > 0
        self._ignored_sequence = sequence
        if not (advances and is_outlived):
            return
        log.warning("ledger_clock.restarted", network=self._network.value, ledger=sequence)
        self._forget_closes()
        self._ignored_sequence = 0
        self._is_confirmed = True  # two looks agree
        self._advance(sequence, close_at)

    def _is_unconfirmed(self) -> bool:
        return self._clock.monotonic() - self._confirmed_at > _UNCONFIRMED_S

    def _is_stale(self) -> bool:
        return self._clock.monotonic() - self._seen_at > self._stale_after_s
