"""The JSON of `/v1/audit`."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from farebox.audit.event import AuditLogEntry
from farebox.kernel.pages import Moment, PaginationBody, PlaceBody


class AuditEventBody(msgspec.Struct, rename="camel"):
    """One audit event: who did what to which record, when, and in which request."""

    id: str
    action: str
    subject: str  # the id of the record
    actor: str  # session, key, operator or service
    actor_id: str | None  # which key or session
    request_id: str
    done_at: Moment


class AuditBody(msgspec.Struct, rename="camel"):
    """A page of the audit log, newest first."""

    items: list[AuditEventBody]
    pagination: PaginationBody


class AuditEventCursor(PlaceBody):
    """The last event of a page; events of earlier releases have ids that begin with `deed_`."""

    id: Annotated[str, Meta(pattern=r"^(?:evt|deed)_[0-9A-Za-z]{22}\Z")]


def audit_body(
    entries: Sequence[AuditLogEntry], *, limit: int, next_cursor: str | None
) -> AuditBody:
    """Render a page of the audit log."""
    return AuditBody([_event_body(each) for each in entries], PaginationBody(limit, next_cursor))


def _event_body(entry: AuditLogEntry) -> AuditEventBody:
    return AuditEventBody(
        id=entry.id,
        action=entry.action,
        subject=entry.target,
        actor=entry.actor,
        actor_id=entry.actor_id,
        request_id=entry.request_id,
        done_at=entry.occurred_at,
    )
