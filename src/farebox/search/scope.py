"""Which documents a search may find: those its filters let through, as they stood at one moment."""

from dataclasses import dataclass
from datetime import datetime

from farebox.catalog.listing import ListingFilters


@dataclass(frozen=True, slots=True)
class View:
    """One moment of the catalog; every page of a walk looks at the same one."""

    at: datetime  # when the walk began
    snapshot: str | None = None  # `pg_current_snapshot()` of its first page; None: as it is now


@dataclass(frozen=True, slots=True)
class Scope:
    """What every stage is confined to."""

    view: View
    filters: ListingFilters
