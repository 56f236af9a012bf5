"""The JSON of the audit trail's route."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from farebox.audit.trail import Told
from farebox.kernel.pages import Moment, PaginationBody, PlaceBody


class DeedBody(msgspec.Struct, rename="camel"):
    """One action: who did what to which record, when, and in which request."""

    id: str
    action: str
    subject: str  # the id of the record
    actor: str  # session, key or operator
    actor_id: str | None  # which key or session
    request_id: str
    done_at: Moment


class AuditBody(msgspec.Struct, rename="camel"):
    """Some of the deeds done to the caller's records, newest first."""

    items: list[DeedBody]
    pagination: PaginationBody


class DeedPlace(PlaceBody):
    """Where a page of the trail ended."""

    id: Annotated[str, Meta(pattern=r"^deed_[0-9A-Za-z]{22}\Z")]


def audit_body(deeds: Sequence[Told], *, limit: int, next_cursor: str | None) -> AuditBody:
    """A page of the trail."""
    return AuditBody([_deed(each) for each in deeds], PaginationBody(limit, next_cursor))


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
