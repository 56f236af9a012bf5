"""What the walks under way have found, so that a further page need not look for it again.

Nothing depends on it: a walk's statements find the same again, in any process.
"""

from collections import OrderedDict
from typing import Final

from farebox.catalog.shown.filters import Filters
from farebox.search.finding.candidates import Candidates
from farebox.search.finding.walk import Walk

MOST: Final = 50_000  # candidates of all walks together: some 40 MB


class Walks:
    """The walks that were gone on with last, up to `most` candidates; one for a process."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._count = most, 0
        self._kept: OrderedDict[tuple[Walk, Filters], Candidates] = OrderedDict()

    def get(self, walk: Walk, filters: Filters) -> Candidates | None:
        """What the walk found; None where it is not known here any more."""
        key = (walk, filters)
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, walk: Walk, filters: Filters, candidates: Candidates) -> None:
        """These are what the walk found; the walks gone on with longest ago make room."""
        key = (walk, filters)
        self._count += len(candidates) - len(self._kept.pop(key, ()))
        self._kept[key] = candidates
        while self._count > self._most:
            _, oldest = self._kept.popitem(last=False)
            self._count -= len(oldest)
