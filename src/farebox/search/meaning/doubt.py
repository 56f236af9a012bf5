"""Whether a query is answered where words and likeness leave it open.

Around the bar the listing with the most evidence is read together with the request. That is dear,
so clear cases are decided without it; and it is never decided by it alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

OPEN_BELOW: Final = 60  # thousandths of evidence below the bar from which on it is open
OPEN_ABOVE: Final = 200  # and above it up to which
WEIGHT: Final = 200  # of evidence that the logarithm of the odds counts, a unit of it
BAR: Final = -400  # of both together, above the bar of the evidence alone
READ: Final = 1  # listings; more cost more and were less silent


@dataclass(frozen=True, slots=True)
class Doubt:
    """The listings of a query that is open, and their evidence in thousandths above its bar.

    The most evidence first, `READ` at most, and each text once.
    """

    listing_ids: tuple[int, ...]
    above: tuple[int, ...]

    @property
    def is_answered_by_evidence(self) -> bool:
        """What is said where nothing could be read."""
        return max(self.above, default=-1) >= 0


@dataclass(frozen=True, slots=True)
class Read:
    """One listing that was read together with the request, both in thousandths."""

    above: int  # its evidence, above the query's bar
    log_odds: int  # how surely it answers

    @property
    def answers(self) -> bool:
        """Whether evidence and odds together are enough."""
        return 1000 * self.above + WEIGHT * self.log_odds >= 1000 * BAR


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of reading."""

    is_answered: bool
    read: Sequence[Read]
    is_in_time: bool = True  # otherwise the evidence decided
