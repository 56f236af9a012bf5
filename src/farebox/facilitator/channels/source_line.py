"""Who waits for a source account in this process, in which order, and who is to follow whom."""

import asyncio
from bisect import insort
from collections.abc import Callable
from itertools import count
from typing import Protocol

import structlog

from farebox.facilitator.channels.channel import Lease
from farebox.submission.fate import SentEnvelope

log = structlog.get_logger(__name__)


class NoSourceFree(Exception):
    """Every source account was taken for as long as was waited."""


class Prepare(Protocol):
    """Makes the envelope of a sequence number ahead of its turn; None when it cannot now."""

    def __call__(self, source: "HeldSource", sequence: int, /) -> SentEnvelope | None: ...


class HeldSource:
    """A leased source, and what its holder learnt about its sequence number.

    `pass_on_until` (monotonic) is when the lease goes back to the pool that all replicas share,
    whoever waits here. `ready` is an envelope that was prepared while the source's last one was
    pending, good only for the number after that one. `place` is the holder's place in the line,
    kept when the source turns out to be of no use.
    """

    def __init__(
        self, lease: Lease, line: "SourceLine", *, is_relayer: bool, pass_on_until: float
    ) -> None:
        self.lease, self.is_relayer, self.pass_on_until = lease, is_relayer, pass_on_until
        self.used_sequence = lease.used_sequence
        self.ready: SentEnvelope | None = None
        self.place = 0
        self.is_settled = False  # its last envelope used its number, and that is written down
        self._line = line

    def pending(self, sequence: int) -> None:
        """The network has an envelope of this number: whoever is next may prepare."""
        self._line.expect(self, sequence)

    def landed(self, sequence: int) -> None:
        """The number is used up, whether its transaction succeeded or not."""
        self.used_sequence, self.is_settled = sequence, True

    def forget(self) -> None:
        """The number is read from the ledger before it is used again."""
        self.used_sequence, self.is_settled = None, False

    def followed(self) -> "HeldSource":
        """The same lease for the next holder."""
        lease = Lease(self.lease.source, self.lease.epoch, self.used_sequence)
        return HeldSource(
            lease, self._line, is_relayer=self.is_relayer, pass_on_until=self.pass_on_until
        )


class Waiter:
    """One settlement in the line; `turn` is the source when it is there."""

    def __init__(self, place: int, until: float, prepare: Prepare | None) -> None:
        self.place, self.until, self.prepare = place, until, prepare
        self.turn: asyncio.Future[HeldSource] = asyncio.get_running_loop().create_future()
        self.follows: HeldSource | None = None
        self.ready: SentEnvelope | None = None

    def __lt__(self, other: "Waiter") -> bool:
        return self.place < other.place


class SourceLine:
    """First come, first served; the first ones prepare for the sources whose envelope is pending.

    A preparation binds nobody: a source that comes free elsewhere goes to whoever waits longest,
    and what was prepared for another is thrown away.
    """

    def __init__(self) -> None:
        self._waiters: list[Waiter] = []
        self._pending: dict[HeldSource, tuple[int, Waiter | None]] = {}
        self._places = count(1)

    def __len__(self) -> int:
        return len(self._waiters)

    @property
    def next_until(self) -> float:
        """When the patience of the least patient ends (monotonic)."""
        return min(each.until for each in self._waiters)

    def join(self, until: float, prepare: Prepare | None, *, place: int = 0) -> Waiter:
        """Somebody waits until `until` (monotonic), behind all others or at a place held before."""
        waiter = Waiter(place or next(self._places), until, prepare)
        insort(self._waiters, waiter)
        self._pair()
        return waiter

    def leave(self, waiter: Waiter) -> None:
        """Somebody waits no more."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        self._unpair(waiter)
        self._pair()

    def expect(self, held: HeldSource, sequence: int) -> None:
        """The envelope of this number is pending: its source is likely to be free soon."""
        _, follower = self._pending.get(held, (0, None))
        if follower is not None:
            self._unpair(follower)
        self._pending[held] = (sequence, None)
        self._pair()

    def serve(self, held: HeldSource) -> bool:
        """Give a source to whoever waits longest; False when nobody does."""
        if not self._waiters:
            return False
        self._turn_to(self._waiters[0], held)
        return True

    def pass_on(self, held: HeldSource) -> bool:
        """Give a source straight to who prepared for it, or waits longest; False: nobody waits."""
        _, follower = self._pending.pop(held, (0, None))
        if not self._waiters:
            return False
        self._turn_to(follower or self._unpaired() or self._waiters[0], held.followed())
        return True

    def end(self, held: HeldSource) -> None:
        """The source is no longer expected: who prepared for it waits like the others."""
        _, follower = self._pending.pop(held, (0, None))
        if follower is not None:
            follower.follows = follower.ready = None
            self._pair()

    def turn_away(self, reason: Callable[[], Exception], *, late_at: float | None = None) -> int:
        """Nobody waits any more; with `late_at` (monotonic) only those who are more patient do.

        How many were turned away.
        """
        away = [each for each in self._waiters if late_at is None or each.until <= late_at]
        for waiter in away:
            self.leave(waiter)
            waiter.turn.set_exception(reason())
        return len(away)

    def _turn_to(self, waiter: Waiter, held: HeldSource) -> None:
        held.ready, held.place = waiter.ready, waiter.place
        self.leave(waiter)
        waiter.turn.set_result(held)

    def _unpaired(self) -> Waiter | None:
        return next((each for each in self._waiters if each.follows is None), None)

    def _unpair(self, waiter: Waiter) -> None:
        held, waiter.follows, waiter.ready = waiter.follows, None, None
        if held is not None and held in self._pending:
            self._pending[held] = (self._pending[held][0], None)

    def _pair(self) -> None:
        """Whoever waits longest gets ready for the source that was sent from longest ago."""
        for held, (sequence, follower) in list(self._pending.items()):
            if follower is not None:
                continue
            waiter = self._unpaired()
            if waiter is None:
                return
            waiter.follows = held
            waiter.ready = _prepared(waiter, held, sequence + 1)
            self._pending[held] = (sequence, waiter)


def _prepared(waiter: Waiter, held: HeldSource, sequence: int) -> SentEnvelope | None:
    """What a waiter has ready for this number; a fault of one must not end what others began."""
    if waiter.prepare is None:
        return None
    try:
        return waiter.prepare(held, sequence)
    except Exception:  # it is prepared again, by its own call, when its turn comes
        log.exception("source_line.not_prepared")
        return None
