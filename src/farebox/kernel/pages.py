"""Lists of somebody's records, newest first: where a page ends, and how the body says so."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Self

import msgspec
from msgspec import Meta

_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MOST_US: Final = 2**53  # the year 2255

Moment = Annotated[datetime, Meta(tz=True)]
Place = tuple[datetime, str]  # of a record: when it was made, and its id


class PaginationBody(msgspec.Struct, rename="camel"):
    """How the list goes on."""

    limit: int
    next_cursor: str | None


class PlaceBody(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Where a page ended, as its cursor holds it; each list says what its ids look like."""

    at_us: Annotated[int, Meta(ge=0, le=_MOST_US)]  # since 1970
    id: str

    @classmethod
    def of(cls, place: Place) -> Self:
        """The place as a cursor holds it."""
        at, record = place
        return cls((at - _START) // _MICROSECOND, record)

    @property
    def place(self) -> Place:
        """The place itself."""
        return _START + self.at_us * _MICROSECOND, self.id
