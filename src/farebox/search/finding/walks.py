"""What the walks under way have found, so that a further page need not look for it again.

Nothing depends on it: a walk's statements find the same again, in any process.
"""

from typing import Final, TypeAlias

from farebox.catalog.listing import ListingFilters
from farebox.search.finding.candidates import Candidates
from farebox.search.finding.walk import Walk
from farebox.search.meaning.recent import Recent

MOST: Final = 50_000  # candidates of all walks together: some 40 MB

Walks: TypeAlias = Recent[tuple[Walk, ListingFilters], Candidates]


def no_walks(most: int = MOST) -> Walks:
    """None yet; those that were gone on with last are kept, up to `most` candidates."""
    return Recent(most, size=len)
