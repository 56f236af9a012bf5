"""Idempotency keys in PostgreSQL: one row a key, reserved by one request for one payment.

Every function is one statement and returns whether it took effect. `db` is a connection.
"""

from dataclasses import dataclass
from datetime import datetime

from farebox.facilitator.settling.settle_request import IdempotencyKey, SettleRequest
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class Reservation:
    """The reservation of a key by a request.

    `is_live` while the request's payment has a row, or its response is stored.
    """

    request_digest: bytes
    response: bytes | None
    is_live: bool


async def find_key(db: Connection, key: IdempotencyKey, *, now: datetime) -> Reservation | None:
    """Find the reservation of a key; None when there is none or it has expired."""
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
        *_row_key(key),
        now,
    )
    return Reservation(row["request_digest"], row["answer"], row["is_live"]) if row else None


async def reserve_key(
    db: Connection,
    key: IdempotencyKey,
    request: SettleRequest,
    *,
    keep_until: datetime,
    now: datetime,
) -> bool:
    """Reserve a key for a request; False when another request has it.

    A reservation that has expired, or whose payment has no row any more (nothing was sent), is
    replaced.
    """
    is_reserved = await db.fetchval(
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
        *_row_key(key),
        *request.identity.row_key,
        request.digest,
        keep_until,
        now,
    )
    return is_reserved is True


async def store_response(
    db: Connection,
    key: IdempotencyKey,
    request_digest: bytes,
    response: bytes | None,
    *,
    now: datetime,
) -> bytes | None:
    """Store the first response of a key, and return the stored one; None when there is none.

    `response` None stores nothing. Nothing is stored either while the key is not reserved by the
    request.
    """
    stored = await db.fetchval(
        """
        UPDATE request_names SET answer = coalesce(answer, $5)
        WHERE kind = $1 AND scope = $2 AND name = $3 AND request_digest = $4
          AND keep_until > $6
        RETURNING answer
        """,
        *_row_key(key),
        request_digest,
        response,
        now,
    )
    return bytes(stored) if stored is not None else None


async def delete_expired(db: Connection, *, before: datetime, limit: int) -> int:
    """Delete at most `limit` keys that expired by `before`; returns their number."""
    rows = await db.fetch(
        """
        DELETE FROM request_names
        WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM request_names
            WHERE keep_until <= $1
            ORDER BY keep_until
            LIMIT $2
            FOR UPDATE SKIP LOCKED))
        RETURNING true
        """,
        before,
        limit,
    )
    return len(rows)


def _row_key(key: IdempotencyKey) -> tuple[str, str, str]:
    return key.kind.value, key.scope, key.key
