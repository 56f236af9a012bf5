"""The events of plans; numbers rise by one within a plan, in the order of the commits."""

from collections.abc import Mapping

import msgspec

from farebox.storage.pool import Connection


async def add_event(
    db: Connection, proposal_id: str, kind: str, data: Mapping[str, object] | None = None
) -> None:
    """Add an event; it locks the plan's row until the transaction ends. `data` has no secret."""
    await db.execute(
        """
        WITH numbered AS (
            UPDATE automation_proposals SET events = events + 1 WHERE id = $1 RETURNING events)
        INSERT INTO automation_events (proposal_id, number, kind, data)
        SELECT $1, events, $2, $3 FROM numbered
        """,
        proposal_id,
        kind,
        msgspec.json.encode(data or {}, order="sorted").decode(),
    )
