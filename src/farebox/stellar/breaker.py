"""Whether a node should be asked now: closed, open after outages, half open for one trial."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

OUTAGES_TO_OPEN: Final = 3  # in a row
FIRST_PAUSE_S: Final = 2.0
LONGEST_PAUSE_S: Final = 30.0  # also the longest a node's own Retry-After is heeded


class BreakerState(IntEnum):
    """How welcome a call is, the most welcome first."""

    CLOSED = 0
    HALF_OPEN = 1  # the pause is over: the next call shows whether the node is back
    OPEN = 2
    FORBIDDEN = 3  # the node itself asked for a pause


@dataclass(frozen=True, slots=True)
class Breaker:
    """What a node's last answers say of it; moments are monotonic seconds.

    It keeps calls away from a node while another can have them. Only a pause that the node asked
    for holds where there is no other.
    """

    outages: int = 0  # in a row
    pauses: int = 0  # in a row, each twice as long as the one before
    open_until: float | None = None
    was_asked_for: bool = False

    def state(self, now: float) -> BreakerState:
        """How welcome a call is now."""
        if self.open_until is None:
            return BreakerState.CLOSED
        if now >= self.open_until:
            return BreakerState.HALF_OPEN
        return BreakerState.FORBIDDEN if self.was_asked_for else BreakerState.OPEN

    def after_outage(self, now: float) -> "Breaker":
        """The node gave no usable answer: open after three in a row, or after a failed trial."""
        state = self.state(now)
        if state >= BreakerState.OPEN:
            return self
        if state is BreakerState.CLOSED and self.outages + 1 < OUTAGES_TO_OPEN:
            return Breaker(outages=self.outages + 1)
        return self.after_stale_answer(now)

    def after_stale_answer(self, now: float) -> "Breaker":
        """The node is behind, or may not be used: open at once."""
        if self.state(now) >= BreakerState.OPEN:
            return self
        pause_s = min(FIRST_PAUSE_S * 2 ** min(self.pauses, 16), LONGEST_PAUSE_S)
        return Breaker(self.outages + 1, self.pauses + 1, now + pause_s)

    def after_asking_for_pause(self, now: float, seconds: float) -> "Breaker":
        """The node answered that it is asked too often; half a minute is heeded at most."""
        until = now + min(seconds, LONGEST_PAUSE_S)
        return Breaker(self.outages + 1, self.pauses, until, was_asked_for=True)


def served() -> Breaker:
    """The node answered as it should: nothing is held against it any more."""
    return Breaker()
