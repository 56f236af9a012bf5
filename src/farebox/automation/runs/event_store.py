"""The events of plans; numbers rise by one within a plan, in the order of the commits."""

from collections.abc import Mapping

import msgspec

from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunState
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


async def add_run_event(db: Connection, run: Run) -> None:
    """Add the event of a run's new state."""
    if run.state is RunState.DEFERRED and run.error_class is None:
        return  # a poll that said no
    data = {
        "run": run.id,
        "runIndex": run.run_index,
        "legIndex": run.leg_index,
        "reason": run.reason,
        "errorClass": run.error_class,
        "errorCode": run.error_code,
        "transaction": None if run.tx_hash is None else run.tx_hash.hex(),
    }
    told = {name: value for name, value in data.items() if value is not None}
    await add_event(db, run.proposal_id, f"run.{run.state}", told)
