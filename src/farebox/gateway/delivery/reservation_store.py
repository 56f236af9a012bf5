"""The reservations of paid requests, and the counters of wrappers.

The counters change in the statement that inserts or deletes a reservation. Times are those of the
database, so that replicas agree on minute and month.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.delivery.payment_row import (
    COLUMNS,
    FENCED,
    KEY,
    SAME,
    fence_of,
    read_payment_row,
    same_request,
)
from farebox.gateway.payment import BuyerRequest, GatewayPayment
from farebox.gateway.wrapper import Wrapper, WrapperTerm
from farebox.storage.pool import Connection

ONE_PAYMENT: Final = "gateway_payments_pkey"  # the constraint
# by this very holder of this very reservation: a new one of the payment begins its epochs again
_HELD: Final = f"{FENCED} AND state = 'reserved' AND reserved_at = $6"
_MOST_HOLDS: Final = 30_000  # that `attempts` counts, a smallint
_RESERVE: Final = f"""
    WITH moment AS (
        SELECT date_trunc('minute', clock_timestamp()) AS minute,
               date_trunc('month', clock_timestamp(), 'UTC') AS month),
    counted AS (
        INSERT INTO wrapper_counters AS c
            (wrapper_id, minute, minute_count, month, month_count, in_progress)
        SELECT w.id, minute, 1, month, 1, 1 FROM moment, wrappers w
        WHERE w.id = $4 AND w.is_enabled AND w.revision = $5
        ON CONFLICT (wrapper_id) DO UPDATE
        SET minute = greatest(c.minute, excluded.minute),
            minute_count = CASE WHEN c.minute >= excluded.minute THEN c.minute_count ELSE 0 END
                         + 1,
            month = greatest(c.month, excluded.month),
            month_count = CASE WHEN c.month >= excluded.month THEN c.month_count ELSE 0 END + 1,
            in_progress = c.in_progress + 1
        WHERE (c.minute < excluded.minute OR c.minute_count < $6)
          AND (c.month < excluded.month OR c.month_count < $7)
          AND c.in_progress < $8
        RETURNING minute, month)
    INSERT INTO gateway_payments (network, payer, nonce, wrapper_id, owner, slug, binding,
                                  request_digest, presented_digest, method, path, asset, amount,
                                  pay_to, state, minute, month, attempt_until)
    SELECT $1, $2, $3, $4, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, 'reserved', minute,
           month, clock_timestamp() + $19::interval
    FROM counted
    RETURNING {COLUMNS}
"""


@dataclass(frozen=True, slots=True)
class NewPayment:
    """The reservation of a payment for a request to a wrapper."""

    identity: PaymentIdentity
    wrapper: Wrapper
    term: WrapperTerm
    request: BuyerRequest
    request_digest: bytes
    presented_digest: bytes  # SHA-256 of the value of `PAYMENT-SIGNATURE`


@dataclass(frozen=True, slots=True)
class WrapperCounters:
    """The counters of a wrapper as of the database's present minute and month."""

    is_current: bool  # enabled, with the settings that the request was priced by
    minute_count: int
    month_count: int
    in_progress: int
    minute_left_s: float
    month_left_s: float  # of the month of UTC


async def reserve(db: Connection, new: NewPayment, *, held_for: timedelta) -> GatewayPayment | None:
    """Count a request and insert its reservation; None when the wrapper has no room for it.

    Both happen or neither does. The counters' row is locked, so that the limits hold exactly over
    all replicas. The caller holds the reservation for `held_for`: it alone settles.

    Raises:
        Conflict: the payment has a row (`ONE_PAYMENT`).
    """
    limits = new.wrapper.settings.limits
    row = await db.fetchrow(
        _RESERVE,
        *new.identity.row_key,
        new.wrapper.id,
        new.wrapper.revision,
        limits.requests_per_minute,
        limits.monthly_requests,
        limits.concurrent_requests,
        new.wrapper.owner,
        new.wrapper.slug,
        new.request.binding(),
        new.request_digest,
        new.presented_digest,
        new.request.method,
        new.request.path,
        new.term.asset,
        new.term.amount,
        new.term.pay_to,
        held_for,
    )
    return None if row is None else read_payment_row(row)


async def hold_reservation(
    db: Connection, known: GatewayPayment, *, held_for: timedelta
) -> GatewayPayment | None:
    """Take over a reservation that no call holds; None when one does, or when it is another's.

    Every holder has an epoch of its own: one whose time has passed cannot release what another
    one holds. Holders of older versions know themselves by `attempts`, which grows too until the
    payment has landed.
    """
    row = await db.fetchrow(
        f"""
        UPDATE gateway_payments
        SET epoch = epoch + 1, attempts = least(attempts + 1, {_MOST_HOLDS}),
            attempt_until = clock_timestamp() + $6::interval
        WHERE {SAME} AND state = 'reserved'
          AND (attempt_until IS NULL OR attempt_until < clock_timestamp())
        RETURNING {COLUMNS}
        """,
        *same_request(known),
        held_for,
    )
    return None if row is None else read_payment_row(row)


async def release_hold(db: Connection, held: GatewayPayment) -> None:
    """Let another call hold the reservation: the payment may still land."""
    await db.execute(
        f"UPDATE gateway_payments SET attempt_until = NULL WHERE {_HELD}", *_holder(held)
    )


async def leave_unproven(db: Connection, held: GatewayPayment, *, look_after: timedelta) -> None:
    """Let go of a reservation of which nobody can prove whether it landed.

    It stays, is looked at again after `look_after`, and is no request in progress any more.
    """
    await db.execute(
        f"""
        WITH locked AS (
            SELECT c.wrapper_id FROM wrapper_counters c
            WHERE c.wrapper_id = (SELECT wrapper_id FROM gateway_payments WHERE {KEY})
            FOR UPDATE),
        left_alone AS (
            UPDATE gateway_payments p
            SET attempt_until = NULL, is_counted = false,
                next_look_at = clock_timestamp() + $7::interval
            FROM (SELECT is_counted FROM gateway_payments WHERE {KEY}) AS before
            WHERE {_HELD} AND (SELECT count(*) FROM locked) >= 0
            RETURNING wrapper_id, before.is_counted)
        UPDATE wrapper_counters c SET in_progress = c.in_progress - 1
        FROM left_alone WHERE c.wrapper_id = left_alone.wrapper_id AND left_alone.is_counted
        """,
        *_holder(held),
        look_after,
    )


async def release(db: Connection, held: GatewayPayment) -> bool:
    """Delete a reservation and take its request off the counters; False when another call holds it.

    A window that has ended meanwhile is left alone. The counters are locked first, as `reserve`
    locks them, so that the two never wait for each other.
    """
    is_released = await db.fetchval(
        f"""
        WITH locked AS (
            SELECT c.wrapper_id FROM wrapper_counters c
            WHERE c.wrapper_id = (SELECT wrapper_id FROM gateway_payments WHERE {KEY})
            FOR UPDATE),
        gone AS (
            DELETE FROM gateway_payments
            WHERE {_HELD} AND (SELECT count(*) FROM locked) >= 0
            RETURNING wrapper_id, minute, month, is_counted),
        uncounted AS (
            UPDATE wrapper_counters c
            SET minute_count = c.minute_count - (c.minute = gone.minute)::integer,
                month_count = c.month_count - (c.month = gone.month)::integer,
                in_progress = c.in_progress - gone.is_counted::integer
            FROM gone WHERE c.wrapper_id = gone.wrapper_id)
        SELECT true FROM gone
        """,
        *_holder(held),
    )
    return is_released is True


def _holder(held: GatewayPayment) -> tuple[str, str, int, int, int, datetime]:
    """Return the parameters of `_HELD`."""
    return *fence_of(held), held.reserved_at


async def read_counters(db: Connection, wrapper: Wrapper) -> WrapperCounters:
    """Read a wrapper's counters, to say which limit is reached."""
    row = await db.fetchrow(
        """
        WITH moment AS (SELECT clock_timestamp() AS now)
        SELECT w.id IS NOT NULL AS is_current,
               CASE WHEN c.minute >= date_trunc('minute', now) THEN c.minute_count ELSE 0 END
                   AS minute_count,
               CASE WHEN c.month >= date_trunc('month', now, 'UTC') THEN c.month_count ELSE 0 END
                   AS month_count,
               coalesce(c.in_progress, 0) AS in_progress,
               60 - extract(second FROM now) AS minute_left_s,
               extract(epoch FROM date_trunc('month', now AT TIME ZONE 'UTC') + interval '1 month'
                                  - now AT TIME ZONE 'UTC') AS month_left_s
        FROM moment
        LEFT JOIN wrapper_counters c ON c.wrapper_id = $1
        LEFT JOIN wrappers w ON w.id = $1 AND w.is_enabled AND w.revision = $2
        """,
        wrapper.id,
        wrapper.revision,
    )
    assert row is not None  # noqa: S101 - one row whatever the tables hold
    return WrapperCounters(
        is_current=row["is_current"],
        minute_count=row["minute_count"],
        month_count=row["month_count"],
        in_progress=row["in_progress"],
        minute_left_s=float(row["minute_left_s"]),
        month_left_s=float(row["month_left_s"]),
    )
