"""Pages of an owner's records, newest first: the position of a page's end, and its cursor."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Self

import msgspec
from msgspec import Meta

_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MOST_US: Final = 2**53  # the year 2255

Moment = Annotated[datetime, Meta(tz=True)]
Place = tuple[datetime, str]  # of a record in a list: its time of creation, and its id


class PaginationBody(msgspec.Struct, rename="camel"):
    """The size of the page, and the cursor of the next one."""

    limit: int
    next_cursor: str | None


class PlaceBody(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The position in a cursor; each list narrows the form of its ids."""

    at_us: Annotated[int, Meta(ge=0, le=_MOST_US)]  # since 1970
    id: str

    @classmethod
    def of(cls, place: Place) -> Self:
        """The position in the form of a cursor."""
        at, record = place
        return cls((at - _START) // _MICROSECOND, record)

    @property
    def place(self) -> Place:
        """The position of the cursor."""
        return _START + self.at_us * _MICROSECOND, self.id
