"""The rows of the audit trail."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from farebox.audit.trail import Action, Deed, Told
from farebox.kernel.caller import OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.pages import Place
from farebox.storage.pool import Connection, Row

ID_KIND: Final = "deed"


async def write_deed(connection: Connection, deed: Deed) -> None:
    """The deed is in the trail when the caller's transaction commits."""
    caller = deed.caller
    await connection.execute(
        """
        INSERT INTO audit_trail (id, owner, actor, actor_id, action, subject, request_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        new_id(ID_KIND),
        caller.owner,
        caller.kind.value,
        caller.key_id or caller.session_id,
        deed.action.value,
        deed.subject,
        deed.request_id,
    )


async def list_deeds(
    connection: Connection,
    owner: OwnerId,
    *,
    action: Action | None,
    after: Place | None,
    limit: int,
) -> Sequence[Told]:
    """What was done to the owner's records, newest first, those deeds behind `after`."""
    moment, deed_id = after or (None, None)
    rows = await connection.fetch(
        """
        SELECT id, actor, actor_id, action, subject, request_id, done_at FROM audit_trail
        WHERE owner = $1 AND ($2::text IS NULL OR action = $2)
          AND ($3::timestamptz IS NULL OR (done_at, id) < ($3, $4::text))
        ORDER BY done_at DESC, id DESC LIMIT $5
        """,
        owner,
        None if action is None else action.value,
        moment,
        deed_id,
        limit,
    )
    return [_told(row) for row in rows]


async def forget_deeds(connection: Connection, *, kept: timedelta, most: int) -> int:
    """The oldest deeds that are kept no longer are gone; how many were."""
    rows = await connection.fetch(
        """
        DELETE FROM audit_trail WHERE id IN (
            SELECT id FROM audit_trail WHERE done_at < clock_timestamp() - $1::interval
            ORDER BY done_at LIMIT $2 FOR UPDATE SKIP LOCKED)
        RETURNING id
        """,
        kept,
        most,
    )
    return len(rows)


def _told(row: Row) -> Told:
    return Told(
        id=row["id"],
        actor=row["actor"],
        actor_id=row["actor_id"],
        action=row["action"],
        subject=row["subject"],
        request_id=row["request_id"],
        done_at=row["done_at"],
    )
