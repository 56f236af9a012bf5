"""The JSON of the audit trail's route."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import msgspec

from farebox.audit.trail import Told

MOST_US: Final = 2**53
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class DeedResponse(msgspec.Struct, rename="camel"):
    """One action: who did what to which record, when, and in which request."""

    id: str
    action: str
    subject: str  # the id of the record
    actor: str  # session, key or operator
    actor_id: str | None  # which key or session
    request_id: str
    done_at: datetime


class Pagination(msgspec.Struct, rename="camel"):
    """Where the list goes on; no cursor: here it ends."""

    limit: int
    cursor: str | None


class AuditResponse(msgspec.Struct, rename="camel"):
    """`GET /v1/audit`: newest first."""

    items: list[DeedResponse]
    pagination: Pagination


class Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """What a cursor of the trail holds."""

    at_us: Annotated[int, msgspec.Meta(ge=0, le=MOST_US)]  # since 1970
    id: Annotated[str, msgspec.Meta(pattern=r"^deed_[0-9A-Za-z]{22}\Z")]


def audit_body(deeds: Sequence[Told], *, limit: int, cursor: str | None) -> AuditResponse:
    """One page of the trail."""
    return AuditResponse([_deed(each) for each in deeds], Pagination(limit, cursor))


def moment_of(place: Place) -> tuple[datetime, str]:
    """The moment and the id that a cursor's place stands for."""
    return _START + place.at_us * _MICROSECOND, place.id


def place_of(deed: Told) -> Place:
    """What a cursor behind this deed holds."""
    return Place((deed.done_at - _START) // _MICROSECOND, deed.id)


def _deed(told: Told) -> DeedResponse:
    return DeedResponse(
        id=told.id,
        action=told.action,
        subject=told.subject,
        actor=told.actor,
        actor_id=told.actor_id,
        request_id=told.request_id,
        done_at=told.done_at,
    )
