"""The JSON of the audit trail's route."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from farebox.audit.trail import Told

MOST_US: Final = 2**53
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

Moment = Annotated[datetime, Meta(tz=True)]


class DeedBody(msgspec.Struct, rename="camel"):
    """One action: who did what to which record, when, and in which request."""

    id: str
    action: str
    subject: str  # the id of the record
    actor: str  # session, key or operator
    actor_id: str | None  # which key or session
    request_id: str
    done_at: Moment


class PaginationBody(msgspec.Struct, rename="camel"):
    """How the list goes on."""

    limit: int
    next_cursor: str | None


class AuditBody(msgspec.Struct, rename="camel"):
    """Some of the deeds done to the caller's records, newest first."""

    items: list[DeedBody]
    pagination: PaginationBody


class DeedPlace(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Where a page of the trail ended, as its cursor holds it."""

    at_us: Annotated[int, Meta(ge=0, le=MOST_US)]  # since 1970
    id: Annotated[str, Meta(pattern=r"^deed_[0-9A-Za-z]{22}\Z")]


def audit_body(deeds: Sequence[Told], *, limit: int, next_cursor: str | None) -> AuditBody:
    """A page of the trail."""
    return AuditBody([_deed(each) for each in deeds], PaginationBody(limit, next_cursor))


def place_of(deed: Told) -> DeedPlace:
    """What the cursor of the page behind this deed holds."""
    return DeedPlace((deed.done_at - _START) // _MICROSECOND, deed.id)


def moment_of(place: DeedPlace) -> tuple[datetime, str]:
    """The moment and the id that the place stands for."""
    return _START + place.at_us * _MICROSECOND, place.id


def _deed(told: Told) -> DeedBody:
    return DeedBody(
        id=told.id,
        action=told.action,
        subject=told.subject,
        actor=told.actor,
        actor_id=told.actor_id,
        request_id=told.request_id,
        done_at=told.done_at,
    )
