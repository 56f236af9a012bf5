"""The rows of a game's plans, as its judge reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import asyncpg
import msgspec

from farebox.automation.paymaster.budget_store import UNLIMITED, AutomationBudgets

Rows = Sequence[Mapping[str, Any]]
_QUERIES: Final = {
    "plans": "SELECT * FROM automation_proposals ORDER BY id",
    "runs": "SELECT * FROM automation_runs ORDER BY proposal_id, run_index, leg_index",
    "attempts": "SELECT * FROM automation_attempts ORDER BY run_id, number",
    "spend": "SELECT * FROM automation_spend",
    "channels": "SELECT * FROM automation_channels WHERE run_id IS NOT NULL",
    "leases": "SELECT * FROM automation_leases",
    "owners": "SELECT * FROM automation_owners",
    "credits": "SELECT * FROM run_credits ORDER BY id",
    "payments": "SELECT * FROM automation_payments WHERE state = 'confirmed'",
    "events": "SELECT * FROM automation_events ORDER BY proposal_id, number",
}


@dataclass(frozen=True, slots=True)
class GameRows:
    """Everything that is known of a game at a moment in which no process works.

    `landed` are the hashes of the envelopes that took effect. `granted` is until when each holder
    was given a lease, `paid_at` when each plan was paid.
    """

    now: datetime
    plans: Rows = ()
    runs: Rows = ()
    attempts: Rows = ()
    spend: Rows = ()
    channels: Rows = ()
    leases: Rows = ()
    owners: Rows = ()
    credits: Rows = ()
    payments: Rows = ()
    events: Rows = ()
    landed: Sequence[bytes] = ()
    granted: Mapping[str, set[datetime]] = field(default_factory=dict)
    paid_at: Mapping[str, datetime] = field(default_factory=dict)
    budgets: AutomationBudgets = UNLIMITED

    def runs_of(self, plan: Mapping[str, Any]) -> dict[int, Rows]:
        """The legs of each run of a plan, by the run's index."""
        found: dict[int, list[Mapping[str, Any]]] = {}
        for run in self.runs:
            if run["proposal_id"] == plan["id"]:
                found.setdefault(run["run_index"], []).append(run)
        return dict(found)

    def attempts_of(self, run: Mapping[str, Any]) -> Rows:
        """The envelopes of a leg."""
        return [each for each in self.attempts if each["run_id"] == run["id"]]

    def events_of(self, plan: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """Kind and data of the events of a plan, in their order."""
        return [
            (each["kind"], msgspec.json.decode(each["data"]))
            for each in self.events
            if each["proposal_id"] == plan["id"]
        ]


async def read_game_rows(
    db: "asyncpg.Connection[asyncpg.Record]", now: datetime, **known: Any
) -> GameRows:
    """Read all rows; `known` are the other members."""
    found: dict[str, Any] = {
        name: [dict(row) for row in await db.fetch(sql)] for name, sql in _QUERIES.items()
    }
    return GameRows(now, **found, **known)
