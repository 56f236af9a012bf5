"""The newest ledger that any node has reported lately, and which answers are behind it."""

import math
from dataclasses import dataclass
from typing import Final

MAX_LAG_LEDGERS: Final = 3  # what nodes of one network are apart when all is well
# The clock confirms the mark every two seconds. A ledger that nobody confirms for longer was a
# node's mistake, or another network's.
_REMEMBERED_S: Final = 5.0


@dataclass(slots=True)
class LedgerHighWaterMark:
    """One network's newest ledger, as far as it is known here; moments are monotonic seconds."""

    _sequence: int = 0
    _reported_at: float = -math.inf

    def newest(self, now: float) -> int:
        """The newest ledger reported lately; 0 when there is none."""
        return self._sequence if now - self._reported_at <= _REMEMBERED_S else 0

    def report(self, ledger: int, now: float) -> None:
        """A node has this ledger."""
        if ledger >= self.newest(now):
            self._sequence, self._reported_at = ledger, now


def is_behind(ledger: int, newest: int) -> bool:
    """Whether an answer as of `ledger` is about the past; `newest` was known before it was asked.

    Comparing with what was learnt while a slow answer was on its way would call every slow
    answer old.
    """
    return ledger + MAX_LAG_LEDGERS < newest
