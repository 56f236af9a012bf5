"""Payments at the gateway that have landed, and their attempts to deliver.

Every change of a state names the state that it leaves, and changes the wrapper's counters in the
same statement. Times are those of the database.
"""

from datetime import timedelta
from typing import Final

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.delivery.kept_response import SealedResponse
from farebox.gateway.delivery.payment_row import (
    COLUMNS,
    FENCED,
    KEY,
    SAME,
    fence_of,
    read_payment_row,
    same_request,
)
from farebox.gateway.payment import MAX_ATTEMPTS, RETRIES_FOR, GatewayPayment, PaymentState
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

_LEFT_ALONE: Final = timedelta(seconds=10)
_SOONEST_LOOK: Final = timedelta(seconds=5)  # again at an open payment
_LATEST_LOOK: Final = timedelta(minutes=1)


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
    held: GatewayPayment,
    tx_hash: str,
    *,
    state: PaymentState = PaymentState.PAID,
    attempt_for: timedelta | None,
) -> GatewayPayment | None:
    """Record that a reserved payment landed; None when its row left that state before.

    Args:
        db: the connection.
        held: the reservation, as it was read.
        tx_hash: the hash of its transaction, in hex.
        state: paid, or owed for a payment that is never delivered.
        attempt_for: how long the first attempt may take, which begins with this; None for a
            payment without a waiting buyer, whose request stops counting as in progress.
    """
    row = await db.fetchrow(
        f"""
        WITH paid AS (
            UPDATE gateway_payments p
            SET state = $8, tx_hash = $6, paid_at = clock_timestamp(), epoch = epoch + 1,
                attempts = ($7::interval IS NOT NULL)::integer, is_counted = true,
                attempt_until = clock_timestamp() + $7::interval, next_look_at = NULL,
                ended_at = CASE WHEN $8 = 'paid' THEN NULL ELSE clock_timestamp() END
            FROM (SELECT is_counted AS was_counted FROM gateway_payments
                  WHERE {SAME} FOR UPDATE) AS before
            WHERE {SAME} AND state = 'reserved'
            RETURNING {_of_row("p")}, was_counted),
        counted AS (
            UPDATE wrapper_counters c
            SET in_progress = c.in_progress + ($7::interval IS NOT NULL)::integer
                            - was_counted::integer
            FROM paid
            WHERE c.wrapper_id = paid.wrapper_id AND ($7::interval IS NOT NULL) <> was_counted)
        SELECT * FROM paid
        """,
        *same_request(held),
        bytes.fromhex(tx_hash),
        attempt_for,
        state.value,
    )
    return None if row is None else read_payment_row(row)


async def start_attempt(
    db: Connection,
    known: GatewayPayment,
    *,
    attempt_for: timedelta,
    concurrent_requests: int,
) -> GatewayPayment | None:
    """Begin another attempt to deliver a paid request; None when none may begin now.

    At most one attempt of a payment is in progress. Whether the payment has attempts left is
    checked as `GatewayPayment.attempts_left` does.
    """
    row = await db.fetchrow(
        f"""
        WITH owed AS (
            SELECT network, payer, nonce, wrapper_id FROM gateway_payments
            WHERE {SAME} AND state = 'paid' AND may_repeat
              AND attempt_until IS NULL AND attempts < $6
              AND paid_at > clock_timestamp() - $7::interval
            FOR UPDATE),
        counted AS (
            UPDATE wrapper_counters c SET in_progress = c.in_progress + 1
            FROM owed WHERE c.wrapper_id = owed.wrapper_id AND c.in_progress < $9
            RETURNING c.wrapper_id)
        UPDATE gateway_payments p
        SET attempts = p.attempts + 1, epoch = p.epoch + 1, next_look_at = NULL,
            attempt_until = clock_timestamp() + $8::interval
        FROM counted, owed
        WHERE (p.network, p.payer, p.nonce) = (owed.network, owed.payer, owed.nonce)
        RETURNING {_of_row("p")}
        """,
        *same_request(known),
        MAX_ATTEMPTS,
        RETRIES_FOR,
        attempt_for,
        concurrent_requests,
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
            SET state = $6, attempt_until = NULL, status = $7, may_repeat = $8,
                ended_at = CASE WHEN $6 = 'paid' THEN NULL ELSE clock_timestamp() END
            WHERE {FENCED} AND state = 'paid' AND attempt_until IS NOT NULL
            RETURNING wrapper_id),
        uncounted AS (
            UPDATE wrapper_counters c SET in_progress = c.in_progress - 1
            FROM ended WHERE c.wrapper_id = ended.wrapper_id),
        kept AS (
            INSERT INTO gateway_responses (network, payer, nonce, status, sealed, expires_at)
            SELECT $1, $2, $3, $7, $9, clock_timestamp() + $10::interval
            FROM ended WHERE $9::bytea IS NOT NULL
            ON CONFLICT (network, payer, nonce) DO UPDATE
            SET status = excluded.status, sealed = excluded.sealed,
                expires_at = excluded.expires_at)
        SELECT true FROM ended
        """,
        *fence_of(payment),
        state.value,
        status,
        may_repeat,
        None if kept is None else kept.sealed,
        None if kept is None else kept.kept_for,
    )
    return is_ended is True


async def take_unattended(db: Connection, network: Network, *, limit: int) -> list[GatewayPayment]:
    """Take open payments of a network that no call attends to and whose next look is due.

    Those are reservations and attempts whose time has passed, and paid ones that no attempt can
    deliver any more. A reservation is left alone for ten seconds after it was made. The same
    statement sets the next look, after a quarter of the payment's age: a payment that cannot be
    ended holds up no other one.
    """
    rows = await db.fetch(
        f"""
        WITH due AS (
            SELECT network, payer, nonce FROM gateway_payments p
            WHERE network = $1 AND state IN ('reserved', 'paid')
              AND (next_look_at IS NULL OR next_look_at <= clock_timestamp())
              AND CASE WHEN attempt_until IS NOT NULL THEN attempt_until < clock_timestamp()
                       WHEN state = 'reserved' THEN reserved_at < clock_timestamp() - $4::interval
                       ELSE NOT may_repeat OR attempts >= $2
                            OR paid_at <= clock_timestamp() - $3::interval
                            OR NOT EXISTS (SELECT FROM wrappers w WHERE w.id = p.wrapper_id) END
            ORDER BY coalesce(next_look_at, reserved_at) LIMIT $5
            FOR UPDATE SKIP LOCKED)
        UPDATE gateway_payments p
        SET next_look_at = clock_timestamp()
            + least(greatest((clock_timestamp() - p.reserved_at) / 4, $6::interval), $7::interval)
        FROM due WHERE (p.network, p.payer, p.nonce) = (due.network, due.payer, due.nonce)
        RETURNING {_of_row("p")}
        """,
        network.value,
        MAX_ATTEMPTS,
        RETRIES_FOR,
        _LEFT_ALONE,
        limit,
        _SOONEST_LOOK,
        _LATEST_LOOK,
    )
    return [read_payment_row(row) for row in rows]


async def end_unattended(db: Connection, payment: GatewayPayment, state: PaymentState) -> bool:
    """End an attempt whose time has passed, or owe a payment; False when it changed meanwhile."""
    is_ended = await db.fetchval(
        f"""
        WITH ended AS (
            UPDATE gateway_payments p
            SET state = $6, attempt_until = NULL,
                ended_at = CASE WHEN $6 = 'paid' THEN NULL ELSE clock_timestamp() END
            FROM (SELECT attempt_until IS NOT NULL AS was_open FROM gateway_payments
                  WHERE {FENCED} AND state = 'paid'
                    AND (attempt_until IS NULL OR attempt_until < clock_timestamp())
                  FOR UPDATE) AS known
            WHERE {KEY}
            RETURNING wrapper_id, was_open),
        uncounted AS (
            UPDATE wrapper_counters c SET in_progress = c.in_progress - 1
            FROM ended WHERE c.wrapper_id = ended.wrapper_id AND was_open)
        SELECT true FROM ended
        """,
        *fence_of(payment),
        state.value,
    )
    return is_ended is True


async def return_attempt(db: Connection, payment: GatewayPayment) -> bool:
    """Give back the attempt that `payment` was read in; False when it was ended before.

    The request of the attempt was not sent to the upstream: the attempt does not count.
    """
    is_returned = await db.fetchval(
        f"""
        WITH returned AS (
            UPDATE gateway_payments
            SET attempts = attempts - 1, attempt_until = NULL, may_repeat = true
            WHERE {FENCED} AND state = 'paid' AND attempt_until IS NOT NULL
            RETURNING wrapper_id),
        uncounted AS (
            UPDATE wrapper_counters c SET in_progress = c.in_progress - 1
            FROM returned WHERE c.wrapper_id = returned.wrapper_id)
        SELECT true FROM returned
        """,
        *fence_of(payment),
    )
    return is_returned is True


async def record_sending(db: Connection, payment: GatewayPayment) -> timedelta | None:
    """Record that an attempt sends its request, which may not be repeated if its end is unknown.

    Returns the time that the attempt has left; None once it was ended, or its time has passed.
    Before this, an attempt that dies has sent nothing: the payment can be delivered again.
    """
    left: timedelta | None = await db.fetchval(
        f"""
        UPDATE gateway_payments SET may_repeat = false
        WHERE {FENCED} AND state = 'paid' AND attempt_until > clock_timestamp()
        RETURNING attempt_until - clock_timestamp()
        """,
        *fence_of(payment),
    )
    return left


async def read_lease(db: Connection, payment: GatewayPayment) -> timedelta | None:
    """Read the time that the attempt `payment` was read in has left; None once it was ended."""
    left: timedelta | None = await db.fetchval(
        f"""
        SELECT attempt_until - clock_timestamp() FROM gateway_payments
        WHERE {FENCED} AND state = 'paid'
        """,
        *fence_of(payment),
    )
    return left


def _of_row(alias: str) -> str:
    return ", ".join(f"{alias}.{name.strip()}" for name in COLUMNS.split(","))
