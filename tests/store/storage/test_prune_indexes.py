"""Rows that are pruned by age are found by an index, however many rows are younger."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from farebox.accounts.challenge_store import delete_expired_challenges
from farebox.audit.audit_store import delete_expired_events
from farebox.storage.pool import Database

AUDIT_EVENTS = """
    INSERT INTO audit_trail (id, owner, actor, action, subject, request_id)
    SELECT n::text, 'owner', 'session', 'key_created', 'x', 'r' FROM generate_series(1, 20000) AS n
"""
CHALLENGES = """
    INSERT INTO challenges (digest, network, address, expires_at)
    SELECT sha256(n::text::bytea), 'stellar:testnet', 'G' || n, now() + interval '5 minutes'
    FROM generate_series(1, 20000) AS n
"""


class Explained:
    """A connection that keeps the plan of each fetched statement."""

    def __init__(self, db: Any, *, volatile: bool) -> None:
        self._db, self._volatile = db, volatile
        self.plan = ""

    async def fetch(self, query: str, *arguments: object) -> list[object]:
        if self._volatile:
            query = query.replace("now()", "clock_timestamp()")
        rows = await self._db.fetch(f"EXPLAIN {query}", *arguments)
        self.plan = "\n".join(row[0] for row in rows)
        return []


@pytest.mark.parametrize(
    ("filled", "table", "prune"),
    [
        (
            AUDIT_EVENTS,
            "audit_trail",
            lambda db: delete_expired_events(db, kept=timedelta(days=400), most=1000),
        ),
        (CHALLENGES, "challenges", lambda db: delete_expired_challenges(db, limit=500)),
    ],
)
async def test_prune_statements_find_expired_rows_by_the_index(
    database: Database, filled: str, table: str, prune: Callable[[Any], Awaitable[object]]
) -> None:
    plans = []
    async with database.connection() as db:
        await db.execute(filled)
        await db.execute(f"ANALYZE {table}")
        for volatile in (False, True):
            explained = Explained(db, volatile=volatile)
            await prune(explained)
            plans.append(explained.plan)
    served, read_through = plans
    moment = "done_at" if table == "audit_trail" else "expires_at"
    assert f"Index Cond: ({moment} < " in served
    assert f"Index Cond: ({moment} < " not in read_through  # a moment that differs row by row
