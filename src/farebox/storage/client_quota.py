"""Quotas on the rows of free accounts, by client address: a new wallet costs nothing.

A caller whose account is on the ledger, or whose key the operator made, has only the quota of its
owner, and its rows have no client address. Rows of other callers have the client address they came
from. Every table whose rows owners create needs this quota: a column `client`, a partial index on
it, and a `ClientQuota` in its store.
"""

from dataclasses import dataclass
from typing import LiteralString

from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.storage.pool import Connection


class QuotaReached(Refusal):
    """The client address, or all free accounts together, have reached their quota of rows."""

    def __init__(self) -> None:
        message = (
            "No more is kept for accounts that are not on the ledger, from here or in all: fund the"
            " account, and sign in again."
        )
        super().__init__(ErrorCode.QUOTA_REACHED, message)


@dataclass(frozen=True, slots=True)
class ClientQuota:
    """The most rows of `table` that free accounts may have, of one client address and in total."""

    table: LiteralString
    per_client: int
    in_total: int


async def enforce_quota(db: Connection, quota: ClientQuota, client: str | None) -> None:
    """Check that one more row is allowed, and lock the quota until the transaction ends.

    A client of None has no such quota.

    Raises:
        QuotaReached: no further row is allowed.
    """
    if client is None:
        return
    await db.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 20))", quota.table)
    is_reached = await db.fetchval(
        f"""
        SELECT (SELECT count(*) FROM (SELECT FROM {quota.table} WHERE client = $1 LIMIT $2) AS own)
                   >= $2
            OR (SELECT count(*) FROM (SELECT FROM {quota.table} WHERE client IS NOT NULL LIMIT $3)
                AS every) >= $3
        """,  # noqa: S608 - the table is a constant of the code
        client,
        quota.per_client,
        quota.in_total,
    )
    if is_reached:
        raise QuotaReached
