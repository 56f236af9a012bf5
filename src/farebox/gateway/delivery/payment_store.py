"""The tables of payments at the gateway and of the wrappers' counters.

Every change of a state names the state that it leaves, and changes the counters in the same
statement. Times are those of the database, so that replicas agree on minute and month.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.payment import (
    MAX_ATTEMPTS,
    RETRIES_FOR,
    BuyerRequest,
    GatewayPayment,
    PaymentState,
)
from farebox.gateway.wrapper import Wrapper, WrapperTerm
from farebox.kernel.addresses import Address
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row

ONE_PAYMENT: Final = "gateway_payments_pkey"  # the constraint
_COLUMNS: Final = """network, payer, nonce, wrapper_id, owner, slug, binding, request_digest, state,
    tx_hash, attempts, attempt_until, may_repeat, reserved_at, paid_at"""
_KEY: Final = "(network, payer, nonce) = ($1, $2, $3)"
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
                                  request_digest, method, path, asset, amount, pay_to, state,
                                  minute, month, attempt_until)
    SELECT $1, $2, $3, $4, $9, $10, $11, $12, $13, $14, $15, $16, $17, 'reserved', minute, month,
           clock_timestamp() + $18::interval
    FROM counted
    RETURNING {_COLUMNS}
"""


@dataclass(frozen=True, slots=True)
class NewPayment:
    """The reservation of a payment for a request to a wrapper."""

    identity: PaymentIdentity
    wrapper: Wrapper
    term: WrapperTerm
    request: BuyerRequest
    request_digest: bytes


@dataclass(frozen=True, slots=True)
class WrapperUse:
    """The counters of a wrapper as of the database's present minute and month."""

    is_current: bool  # enabled, with the settings that the request was priced by
    minute_count: int
    month_count: int
    in_progress: int
    seconds_left: float  # of the minute


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
        new.request.method,
        new.request.path,
        new.term.asset,
        new.term.amount,
        new.term.pay_to,
        held_for,
    )
    return None if row is None else _read(row)


async def hold_reservation(
    db: Connection, identity: PaymentIdentity, *, held_for: timedelta
) -> GatewayPayment | None:
    """Take over a reservation that no call holds; None when one does, or when it is none any more.

    `attempts` counts the holders while nothing has landed: a holder whose time has passed cannot
    release what another one holds.
    """
    row = await db.fetchrow(
        f"""
        UPDATE gateway_payments
        SET attempts = attempts + 1, attempt_until = clock_timestamp() + $4::interval
        WHERE {_KEY} AND state = 'reserved'
          AND (attempt_until IS NULL OR attempt_until < clock_timestamp())
        RETURNING {_COLUMNS}
        """,
        *identity.row_key,
        held_for,
    )
    return None if row is None else _read(row)


async def let_go(db: Connection, held: GatewayPayment) -> None:
    """Let another call hold the reservation: the payment may still land."""
    await db.execute(
        f"""
        UPDATE gateway_payments SET attempt_until = NULL
        WHERE {_KEY} AND state = 'reserved' AND attempts = $4
        """,
        *held.identity.row_key,
        held.attempts,
    )


async def read_use(db: Connection, wrapper: Wrapper) -> WrapperUse:
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
               60 - extract(second FROM now) AS seconds_left
        FROM moment
        LEFT JOIN wrapper_counters c ON c.wrapper_id = $1
        LEFT JOIN wrappers w ON w.id = $1 AND w.is_enabled AND w.revision = $2
        """,
        wrapper.id,
        wrapper.revision,
    )
    assert row is not None  # noqa: S101 - one row whatever the tables hold
    return WrapperUse(
        is_current=row["is_current"],
        minute_count=row["minute_count"],
        month_count=row["month_count"],
        in_progress=row["in_progress"],
        seconds_left=float(row["seconds_left"]),
    )


async def find_payment(db: Connection, identity: PaymentIdentity) -> GatewayPayment | None:
    """Find the row of a payment."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM gateway_payments WHERE {_KEY}", *identity.row_key
    )
    return None if row is None else _read(row)


async def release(db: Connection, held: GatewayPayment) -> bool:
    """Delete a reservation and take its request off the counters; False when another call holds it.

    A window that has ended meanwhile is left alone. The counters are locked first, as `reserve`
    locks them, so that the two never wait for each other.
    """
    is_released = await db.fetchval(
        f"""
        WITH locked AS (
            SELECT c.wrapper_id FROM wrapper_counters c
            WHERE c.wrapper_id = (SELECT wrapper_id FROM gateway_payments WHERE {_KEY})
            FOR UPDATE),
        gone AS (
            DELETE FROM gateway_payments
            WHERE {_KEY} AND state = 'reserved' AND attempts = $4
              AND (SELECT count(*) FROM locked) >= 0
            RETURNING wrapper_id, minute, month),
        uncounted AS (
            UPDATE wrapper_counters c
            SET minute_count = c.minute_count - (c.minute = gone.minute)::integer,
                month_count = c.month_count - (c.month = gone.month)::integer,
                in_progress = c.in_progress - 1
            FROM gone WHERE c.wrapper_id = gone.wrapper_id)
        SELECT true FROM gone
        """,
        *held.identity.row_key,
        held.attempts,
    )
    return is_released is True


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
            WHERE {_KEY} AND state = 'reserved'
            RETURNING {_COLUMNS}),
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
    return None if row is None else _read(row)


async def begin_attempt(
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
            WHERE {_KEY} AND binding = $4 AND state = 'paid' AND may_repeat
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
        RETURNING {", ".join(f"p.{name.strip()}" for name in _COLUMNS.split(","))}
        """,
        *identity.row_key,
        binding,
        MAX_ATTEMPTS,
        RETRIES_FOR,
        attempt_for,
        concurrent_requests,
        may_repeat,
    )
    return None if row is None else _read(row)


async def end_attempt(
    db: Connection,
    payment: GatewayPayment,
    state: PaymentState,
    *,
    status: int | None,
    may_repeat: bool,
) -> bool:
    """End the attempt that `payment` was read in; False when it was ended before.

    Args:
        db: the connection.
        payment: the row as the attempt began.
        state: delivered, owed, or paid for an attempt that may be followed by another one.
        status: the upstream's status; None without a response.
        may_repeat: whether the upstream may get the request again.
    """
    is_ended = await db.fetchval(
        f"""
        WITH ended AS (
            UPDATE gateway_payments
            SET state = $5, attempt_until = NULL, status = $6, may_repeat = $7,
                ended_at = CASE WHEN $5 = 'paid' THEN NULL ELSE clock_timestamp() END
            WHERE {_KEY} AND state = 'paid' AND attempts = $4 AND attempt_until IS NOT NULL
            RETURNING wrapper_id),
        uncounted AS (
            UPDATE wrapper_counters c SET in_progress = c.in_progress - 1
            FROM ended WHERE c.wrapper_id = ended.wrapper_id)
        SELECT true FROM ended
        """,
        *payment.identity.row_key,
        payment.attempts,
        state.value,
        status,
        may_repeat,
    )
    return is_ended is True


def _read(row: Row) -> GatewayPayment:
    return GatewayPayment(
        identity=PaymentIdentity(Network(row["network"]), Address(row["payer"]), row["nonce"]),
        wrapper_id=row["wrapper_id"],
        owner=OwnerId(row["owner"]),
        slug=row["slug"],
        binding=row["binding"],
        request_digest=row["request_digest"],
        state=PaymentState(row["state"]),
        tx_hash=row["tx_hash"].hex() if row["tx_hash"] is not None else "",
        attempts=row["attempts"],
        attempt_until=row["attempt_until"],
        may_repeat=row["may_repeat"],
        reserved_at=row["reserved_at"],
        paid_at=row["paid_at"],
    )
