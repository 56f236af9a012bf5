"""Names of requests in PostgreSQL: one row a name, held by one request of one payment.

Every function is one statement and says whether it happened. `db` is a connection.
"""

from dataclasses import dataclass
from datetime import datetime

from farebox.facilitator.requests.name import NamedRequest, RequestName
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class HeldName:
    """Whose a name is; `is_live` while its payment has a row or its answer is kept."""

    request_digest: bytes
    answer: bytes | None
    is_live: bool


async def find_name(db: Connection, name: RequestName, *, now: datetime) -> HeldName | None:
    """Who holds a name; None when nobody does any more."""
    row = await db.fetchrow(
        """
        SELECT request_digest, answer, answer IS NOT NULL OR EXISTS (
            SELECT FROM settlements
            WHERE (settlements.network, settlements.payer, settlements.nonce)
                = (request_names.network, request_names.payer, request_names.nonce)
              AND settlements.request_digest = request_names.request_digest) AS is_live
        FROM request_names
        WHERE kind = $1 AND scope = $2 AND name = $3 AND keep_until > $4
        """,
        *_key(name),
        now,
    )
    return HeldName(row["request_digest"], row["answer"], row["is_live"]) if row else None


async def take_name(
    db: Connection, name: RequestName, request: NamedRequest, *, now: datetime
) -> bool:
    """Hold a name for a request; False when another request does.

    One whose payment is gone (nothing was sent of it), or whose time is over, gives way.
    """
    taken = await db.fetchval(
        """
        INSERT INTO request_names AS held
            (kind, scope, name, network, payer, nonce, request_digest, keep_until)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (kind, scope, name) DO UPDATE
        SET network = excluded.network, payer = excluded.payer, nonce = excluded.nonce,
            request_digest = excluded.request_digest,
            keep_until = greatest(held.keep_until, excluded.keep_until),
            answer = CASE
                WHEN held.request_digest = excluded.request_digest AND held.keep_until > $9
                THEN held.answer END
        WHERE held.request_digest = excluded.request_digest
           OR held.keep_until <= $9
           OR (held.answer IS NULL AND NOT EXISTS (
               SELECT FROM settlements
               WHERE (settlements.network, settlements.payer, settlements.nonce)
                   = (held.network, held.payer, held.nonce)
                 AND settlements.request_digest = held.request_digest))
        RETURNING true
        """,
        *_key(name),
        *request.identity.row_key,
        request.digest,
        request.keep_until,
        now,
    )
    return taken is True


async def keep_answer(
    db: Connection, name: RequestName, request_digest: bytes, answer: bytes, *, now: datetime
) -> bytes | None:
    """Keep the first answer a name gets, and return it; None when the name is not the request's."""
    kept = await db.fetchval(
        """
        UPDATE request_names SET answer = coalesce(answer, $5)
        WHERE kind = $1 AND scope = $2 AND name = $3 AND request_digest = $4
          AND keep_until > $6
        RETURNING answer
        """,
        *_key(name),
        request_digest,
        answer,
        now,
    )
    return bytes(kept) if kept is not None else None


async def delete_expired(db: Connection, *, before: datetime, limit: int) -> int:
    """Forget at most `limit` names whose time was over by `before`; how many it were."""
    rows = await db.fetch(
        """
        DELETE FROM request_names
        WHERE (kind, scope, name) IN (
            SELECT kind, scope, name FROM request_names
            WHERE keep_until <= $1
            ORDER BY keep_until
            LIMIT $2
            FOR UPDATE SKIP LOCKED)
        RETURNING true
        """,
        before,
        limit,
    )
    return len(rows)


def _key(name: RequestName) -> tuple[str, str, str]:
    return name.kind.value, name.scope, name.name
