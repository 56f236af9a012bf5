"""Payments at the gateway that have landed, and their attempts to deliver.

Every change of a state names the state that it leaves, and changes the wrapper's counters in the
same statement. Times are those of the database.
"""

from datetime import timedelta
from typing import Final

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.delivery.kept_response import SealedResponse
from farebox.gateway.delivery.payment_row import COLUMNS, KEY, read_payment_row
from farebox.gateway.payment import MAX_ATTEMPTS, RETRIES_FOR, GatewayPayment, PaymentState
from farebox.storage.pool import Connection

_LEFT_ALONE: Final = timedelta(seconds=10)


async def find_payment(db: Connection, identity: PaymentIdentity) -> GatewayPayment | None:
    """Find the row of a payment."""
    row = await db.fetchrow(
        f"SELECT {COLUMNS} FROM gateway_payments WHERE {KEY}", *identity.row_key
    )
    return None if row is None else read_payment_row(row)


async def find_wrapper_id(db: Connection, identity: PaymentIdentity) -> str | None:
    """Find the id of the wrapper that a payment was presented to."""
    wrapper_id: str | None = await db.fetchval(
        f"SELECT wrapper_id FROM gateway_payments WHERE {KEY}", *identity.row_key
    )
    return wrapper_id


async def record_paid(
    db: Connection,
    identity: PaymentIdentity,
    tx_hash: str,
    *,
    attempt_for: timedelta | None,
    may_repeat: bool = True,
) -> GatewayPayment | None:
    """Record that a reserved payment landed; None when the row left that state before.

    Args:
        db: the connection.
        identity: the payment.
        tx_hash: the hash of its transaction, in hex.
        attempt_for: how long the first attempt may take, which begins with this; None for a
            payment without a waiting buyer, whose request stops counting as in progress.
        may_repeat: whether the upstream may get the request again after this attempt.
    """
    row = await db.fetchrow(
        f"""
        WITH paid AS (
            UPDATE gateway_payments
            SET state = 'paid', tx_hash = $4, paid_at = clock_timestamp(),
                attempts = ($5::interval IS NOT NULL)::integer,
                attempt_until = clock_timestamp() + $5::interval,
                may_repeat = $6
            WHERE {KEY} AND state = 'reserved'
            RETURNING {COLUMNS}),
        left_alone AS (
            UPDATE wrapper_counters c SET in_progress = c.in_progress - 1
            FROM paid WHERE c.wrapper_id = paid.wrapper_id AND $5::interval IS NULL)
        SELECT * FROM paid
        """,
        *identity.row_key,
        bytes.fromhex(tx_hash),
        attempt_for,
        may_repeat,
    )
    return None if row is None else read_payment_row(row)


async def start_attempt(
    db: Connection,
    identity: PaymentIdentity,
    binding: bytes,
    *,
    attempt_for: timedelta,
    concurrent_requests: int,
    may_repeat: bool,
) -> GatewayPayment | None:
    """Begin another attempt to deliver a paid request; None when none may begin now.

    At most one attempt of a payment is in progress. Whether the payment has attempts left is
    checked as `GatewayPayment.attempts_left` does.
    """
    row = await db.fetchrow(
        f"""
        WITH owed AS (
            SELECT network, payer, nonce, wrapper_id FROM gateway_payments
            WHERE {KEY} AND binding = $4 AND state = 'paid' AND may_repeat
              AND attempt_until IS NULL AND attempts < $5
              AND paid_at > clock_timestamp() - $6::interval
            FOR UPDATE),
        counted AS (
            UPDATE wrapper_counters c SET in_progress = c.in_progress + 1
            FROM owed WHERE c.wrapper_id = owed.wrapper_id AND c.in_progress < $8
            RETURNING c.wrapper_id)
        UPDATE gateway_payments p
        SET attempts = p.attempts + 1, attempt_until = clock_timestamp() + $7::interval,
            may_repeat = $9
        FROM counted, owed
        WHERE (p.network, p.payer, p.nonce) = (owed.network, owed.payer, owed.nonce)
        RETURNING {", ".join(f"p.{name.strip()}" for name in COLUMNS.split(","))}
        """,
        *identity.row_key,
        binding,
        MAX_ATTEMPTS,
        RETRIES_FOR,
        attempt_for,
        concurrent_requests,
        may_repeat,
    )
    return None if row is None else read_payment_row(row)


async def end_attempt(
    db: Connection,
    payment: GatewayPayment,
    state: PaymentState,
    *,
    status: int | None,
    may_repeat: bool,
    kept: SealedResponse | None = None,
) -> bool:
    """End the attempt that `payment` was read in; False when it was ended before.

    Args:
        db: the connection.
        payment: the row as the attempt began.
        state: delivered, owed, or paid for an attempt that may be followed by another one.
        status: the upstream's status; None without a response.
        may_repeat: whether the upstream may get the request again.
        kept: the response that is stored in the same statement.
    """
    is_ended = await db.fetchval(
        f"""
        WITH ended AS (
            UPDATE gateway_payments
            SET state = $5, attempt_until = NULL, status = $6, may_repeat = $7,
                ended_at = CASE WHEN $5 = 'paid' THEN NULL ELSE clock_timestamp() END
            WHERE {KEY} AND state = 'paid' AND attempts = $4 AND attempt_until IS NOT NULL
            RETURNING wrapper_id),
        uncounted AS (
            UPDATE wrapper_counters c SET in_progress = c.in_progress - 1
            FROM ended WHERE c.wrapper_id = ended.wrapper_id),
        kept AS (
            INSERT INTO gateway_responses (network, payer, nonce, status, sealed, expires_at)
            SELECT $1, $2, $3, $6, $8, clock_timestamp() + $9::interval
            FROM ended WHERE $8::bytea IS NOT NULL
            ON CONFLICT (network, payer, nonce) DO UPDATE
            SET status = excluded.status, sealed = excluded.sealed,
                expires_at = excluded.expires_at)
        SELECT true FROM ended
        """,
        *payment.identity.row_key,
        payment.attempts,
        state.value,
        status,
        may_repeat,
        None if kept is None else kept.sealed,
        None if kept is None else kept.kept_for,
    )
    return is_ended is True


async def find_unattended(db: Connection, *, limit: int) -> list[GatewayPayment]:
    """Find open payments that no call attends to, the oldest first.

    Those are reservations and attempts whose time has passed, and paid ones without attempts left.
    A reservation is left alone for ten seconds after its call let it go.
    """
    rows = await db.fetch(
        f"""
        SELECT {COLUMNS} FROM gateway_payments
        WHERE state IN ('reserved', 'paid')
          AND CASE WHEN attempt_until IS NOT NULL THEN attempt_until < clock_timestamp()
                   WHEN state = 'reserved' THEN reserved_at < clock_timestamp() - $3::interval
                   ELSE NOT may_repeat OR attempts >= $1
                        OR paid_at <= clock_timestamp() - $2::interval END
        ORDER BY reserved_at LIMIT $4
        """,
        MAX_ATTEMPTS,
        RETRIES_FOR,
        _LEFT_ALONE,
        limit,
    )
    return [read_payment_row(row) for row in rows]


async def end_unattended(db: Connection, payment: GatewayPayment, state: PaymentState) -> bool:
    """End an attempt whose time has passed, or owe a payment; False when it changed meanwhile."""
    is_ended = await db.fetchval(
        f"""
        WITH ended AS (
            UPDATE gateway_payments p
            SET state = $5, attempt_until = NULL,
                ended_at = CASE WHEN $5 = 'paid' THEN NULL ELSE clock_timestamp() END
            FROM (SELECT attempt_until IS NOT NULL AS was_open FROM gateway_payments
                  WHERE {KEY} AND state = 'paid' AND attempts = $4
                    AND (attempt_until IS NULL OR attempt_until < clock_timestamp())
                  FOR UPDATE) AS known
            WHERE {KEY}
            RETURNING wrapper_id, was_open),
        uncounted AS (
            UPDATE wrapper_counters c SET in_progress = c.in_progress - 1
            FROM ended WHERE c.wrapper_id = ended.wrapper_id AND was_open)
        SELECT true FROM ended
        """,
        *payment.identity.row_key,
        payment.attempts,
        state.value,
    )
    return is_ended is True


async def return_attempt(db: Connection, payment: GatewayPayment) -> bool:
    """Give back the attempt that `payment` was read in; False when it was ended before.

    The request of the attempt was not sent to the upstream: the attempt does not count. Its number
    is used again, so the end of its time says which one is given back.
    """
    is_returned = await db.fetchval(
        f"""
        WITH returned AS (
            UPDATE gateway_payments
            SET attempts = attempts - 1, attempt_until = NULL, may_repeat = true
            WHERE {KEY} AND state = 'paid' AND attempts = $4 AND attempt_until = $5
            RETURNING wrapper_id),
        uncounted AS (
            UPDATE wrapper_counters c SET in_progress = c.in_progress - 1
            FROM returned WHERE c.wrapper_id = returned.wrapper_id)
        SELECT true FROM returned
        """,
        *payment.identity.row_key,
        payment.attempts,
        payment.attempt_until,
    )
    return is_returned is True


async def read_lease(db: Connection, payment: GatewayPayment) -> timedelta | None:
    """Read the time that the attempt `payment` was read in has left; None once it was ended."""
    left: timedelta | None = await db.fetchval(
        f"""
        SELECT attempt_until - clock_timestamp() FROM gateway_payments
        WHERE {KEY} AND state = 'paid' AND attempts = $4 AND attempt_until = $5
        """,
        *payment.identity.row_key,
        payment.attempts,
        payment.attempt_until,
    )
    return left
