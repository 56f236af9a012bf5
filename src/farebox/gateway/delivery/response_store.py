"""The table of delivered responses, sealed; `payment_store.end_attempt` writes it."""

from farebox.facilitator.settlement import PaymentIdentity
from farebox.storage.pool import Connection


async def find_response(db: Connection, identity: PaymentIdentity) -> tuple[int, bytes] | None:
    """Find status and sealed parts of a payment's response, unless it has expired."""
    row = await db.fetchrow(
        """
        SELECT status, sealed FROM gateway_responses
        WHERE (network, payer, nonce) = ($1, $2, $3) AND expires_at > clock_timestamp()
        """,
        *identity.row_key,
    )
    return None if row is None else (row["status"], row["sealed"])


async def delete_expired(db: Connection, *, limit: int) -> int:
    """Delete expired responses, `limit` at most; return their number."""
    count: int = await db.fetchval(
        """
        WITH gone AS (
            DELETE FROM gateway_responses WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM gateway_responses
                WHERE expires_at <= clock_timestamp()
                ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone
        """,
        limit,
    )
    return count
