"""Audit events in PostgreSQL (table `audit_trail`)."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from farebox.audit.event import Action, AuditEvent, AuditLogEntry
from farebox.kernel.caller import OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.pages import Place
from farebox.storage.pool import Connection

ID_KIND: Final = "evt"  # rows of earlier releases have ids that begin with `deed_`


async def insert_event(connection: Connection, event: AuditEvent) -> None:
    """Insert the event in the caller's transaction."""
    caller = event.caller
    await connection.execute(
        """
        INSERT INTO audit_trail (id, owner, actor, actor_id, action, subject, request_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        new_id(ID_KIND),
        caller.owner,
        caller.kind.value,
        caller.key_id or caller.session_id,
        event.action.value,
        event.target,
        event.request_id,
    )


async def list_events(
    connection: Connection,
    owners: Sequence[OwnerId],
    *,
    action: Action | None,
    after: Place | None,
    limit: int,
) -> Sequence[AuditLogEntry]:
    """List the events of the owners' records, newest first, those that follow `after`."""
    after_at, after_id = after or (None, None)
    rows = await connection.fetch(
        """
        SELECT id, actor, actor_id, action, subject, request_id, done_at FROM audit_trail
        WHERE owner = ANY ($1::text[]) AND ($2::text IS NULL OR action = $2)
          AND ($3::timestamptz IS NULL OR (done_at, id) < ($3, $4::text))
        ORDER BY done_at DESC, id DESC LIMIT $5
        """,
        owners,
        None if action is None else action.value,
        after_at,
        after_id,
        limit,
    )
    return [AuditLogEntry(*row) for row in rows]


async def delete_expired_events(connection: Connection, *, kept: timedelta, most: int) -> int:
    """Delete the oldest events whose age exceeds `kept`, at most `most`; return the count."""
    rows = await connection.fetch(
        """
        DELETE FROM audit_trail WHERE id = ANY (ARRAY(
            SELECT id FROM audit_trail WHERE done_at < now() - $1::interval
            ORDER BY done_at LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING id
        """,
        kept,
        most,
    )
    return len(rows)
