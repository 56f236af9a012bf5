"""The rows of payments for runs. Every change names the state that it leaves."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from farebox.automation.credits.run_payment import RunPayment, RunPaymentState
from farebox.automation.plans.quote import Quote, QuotedFees, payment_identifier
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row

_QUOTES_KEPT: Final = 10  # of a plan: an older one is not paid any more
_LEFT_ALONE: Final = timedelta(seconds=5)  # after the last look at a pending payment
_COLUMNS: Final = """
    y.id, y.proposal_id, y.quote_revision, y.runs, y.network, y.asset, y.pay_to,
    y.payment_identifier, y.is_top_up, y.state, y.payer, y.nonce, y.request_digest, y.tx_hash,
    y.failure, y.valid_until, y.created_at, y.per_run, y.setup, y.credit, y.fee_stroops,
    y.install_fee, y.reserved_at, y.held_until, y.holds
"""


async def next_revision(db: Connection, proposal_id: str) -> int:
    """The revision of the next quote of a plan that the caller has locked."""
    last: int | None = await db.fetchval(
        "SELECT max(quote_revision) FROM automation_payments WHERE proposal_id = $1", proposal_id
    )
    return (last or 0) + 1


async def add_quote(
    db: Connection,
    terms: PlanTerms,
    quote: Quote,
    *,
    pay_to: Address | None,
    is_top_up: bool,
) -> RunPayment:
    """Insert a quote of a plan that the caller has locked; the oldest unpaid ones are deleted."""
    await _delete_old_quotes(db, terms.id, before=quote.revision)
    row = await db.fetchrow(
        f"""
        INSERT INTO automation_payments AS y (
            id, proposal_id, quote_revision, runs, network, asset, amount, pay_to,
            payment_identifier, is_top_up, state, valid_until, per_run, setup, credit,
            fee_stroops, install_fee)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'quoted', $11, $12, $13, $14, $15, $16)
        RETURNING {_COLUMNS}
        """,
        new_id("apay"),
        terms.id,
        quote.revision,
        quote.runs,
        terms.network.value,
        quote.asset,
        quote.total,
        pay_to or "",
        payment_identifier(terms.id, quote.revision),
        is_top_up,
        quote.valid_until,
        quote.per_run,
        quote.setup,
        quote.credit,
        quote.fees.run,
        quote.fees.install,
    )
    if row is None:
        raise ValueError("an insert returns its row")
    return _read(row)


async def _delete_old_quotes(db: Connection, proposal_id: str, *, before: int) -> None:
    await db.execute(
        """
        DELETE FROM automation_payments
        WHERE proposal_id = $1 AND state = 'quoted' AND quote_revision <= $2
        """,
        proposal_id,
        before - _QUOTES_KEPT,
    )


async def find_latest(db: Connection, proposal_id: str) -> RunPayment | None:
    """Find the newest revision of a plan's quotes."""
    row = await db.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM automation_payments y
        WHERE y.proposal_id = $1 ORDER BY y.quote_revision DESC LIMIT 1
        """,
        proposal_id,
    )
    return None if row is None else _read(row)


async def find_pending(db: Connection, proposal_id: str) -> RunPayment | None:
    """Find the payment of a plan that is not final."""
    row = await db.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM automation_payments y
        WHERE y.proposal_id = $1 AND y.state = 'pending'
        """,
        proposal_id,
    )
    return None if row is None else _read(row)


async def find_by_identifier(
    db: Connection, owner: OwnerId, proposal_id: str, identifier: str
) -> RunPayment | None:
    """Find the quote of this payment identifier, of the owner's plan."""
    row = await db.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM automation_payments y
        JOIN automation_proposals p ON p.id = y.proposal_id
        WHERE y.payment_identifier = $3 AND y.proposal_id = $2 AND p.owner = $1
        """,
        owner,
        proposal_id,
        identifier,
    )
    return None if row is None else _read(row)


async def find_payment(db: Connection, payment_id: str) -> RunPayment:
    """Read the row of a payment that exists."""
    row = await db.fetchrow(
        f"SELECT {_COLUMNS} FROM automation_payments y WHERE y.id = $1", payment_id
    )
    if row is None:
        raise ValueError("a presented payment is never deleted")
    return _read(row)


async def reserve(
    db: Connection,
    payment_id: str,
    identity: PaymentIdentity,
    request_digest: bytes,
    *,
    held_for: timedelta,
) -> RunPayment | None:
    """Bind a quote to a presented payment, and hold it; None where it is not quoted any more.

    Raises:
        Conflict: the payment is bound to another quote, or another one of the plan is pending.
    """
    row = await db.fetchrow(
        f"""
        UPDATE automation_payments y
        SET state = 'pending', payer = $2, nonce = $3, request_digest = $4, holds = 1,
            reserved_at = clock_timestamp(), held_until = clock_timestamp() + $5::interval,
            updated_at = clock_timestamp()
        WHERE y.id = $1 AND y.state = 'quoted'
        RETURNING {_COLUMNS}
        """,
        payment_id,
        identity.payer,
        identity.nonce,
        request_digest,
        held_for,
    )
    return None if row is None else _read(row)


async def hold(db: Connection, payment_id: str, *, held_for: timedelta) -> RunPayment | None:
    """Hold a pending payment that no other call holds; None where one does, or it is final."""
    row = await db.fetchrow(
        f"""
        UPDATE automation_payments y
        SET holds = holds + 1, held_until = clock_timestamp() + $2::interval
        WHERE y.id = $1 AND y.state = 'pending'
          AND coalesce(y.held_until, '-infinity') <= clock_timestamp()
        RETURNING {_COLUMNS}
        """,
        payment_id,
        held_for,
    )
    return None if row is None else _read(row)


async def release_hold(
    db: Connection, held: RunPayment, tx_hash: str = "", *, look_after: timedelta = timedelta(0)
) -> None:
    """End a call's hold of a payment that stays pending; `tx_hash` is what is known of it.

    Nobody looks at it again before `look_after` has passed.
    """
    await db.execute(
        """
        UPDATE automation_payments
        SET held_until = clock_timestamp() + $4::interval, updated_at = clock_timestamp(),
            tx_hash = coalesce($3, tx_hash)
        WHERE id = $1 AND state = 'pending' AND holds = $2 AND reserved_at = $5
        """,
        held.id,
        held.holds,
        bytes.fromhex(tx_hash) or None,
        look_after,
        held.reserved_at,
    )


async def mark_confirmed(db: Connection, payment: RunPayment, tx_hash: str) -> RunPayment:
    """Record that a payment landed, whose row was read under the lock of its plan.

    `tx_hash` is empty where nothing was to be paid.
    """
    row = await db.fetchrow(
        f"""
        UPDATE automation_payments y
        SET state = 'confirmed', tx_hash = $2, failure = NULL, held_until = NULL,
            updated_at = clock_timestamp()
        WHERE y.id = $1 AND y.state = $3
        RETURNING {_COLUMNS}
        """,
        payment.id,
        bytes.fromhex(tx_hash) or None,
        payment.state.value,
    )
    if row is None:
        raise ValueError("a payment changes under the lock of its plan alone")
    return _read(row)


async def mark_refuted(
    db: Connection, held: RunPayment, *, tx_hash: str, failure: str, is_over: bool
) -> RunPayment | None:
    """Record that a held payment did not pay: failed if `is_over`, else quoted again.

    None where another call has decided about it.
    """
    row = await db.fetchrow(
        f"""
        UPDATE automation_payments y
        SET state = CASE WHEN $5 THEN 'failed' ELSE 'quoted' END, tx_hash = $3, failure = $4,
            held_until = NULL, updated_at = clock_timestamp(),
            payer = CASE WHEN $5 THEN y.payer END, nonce = CASE WHEN $5 THEN y.nonce END
        WHERE y.id = $1 AND y.state = 'pending' AND y.holds = $2 AND y.reserved_at = $6
        RETURNING {_COLUMNS}
        """,
        held.id,
        held.holds,
        bytes.fromhex(tx_hash) or None,
        failure,
        is_over,
        held.reserved_at,
    )
    return None if row is None else _read(row)


async def list_unattended(db: Connection, *, limit: int) -> Sequence[RunPayment]:
    """Pending payments that no call holds, those first that were looked at the longest ago."""
    rows = await db.fetch(
        f"""
        SELECT {_COLUMNS} FROM automation_payments y
        WHERE y.state = 'pending' AND coalesce(y.held_until, '-infinity') <= clock_timestamp()
          AND y.updated_at <= clock_timestamp() - $2::interval
        ORDER BY y.updated_at LIMIT $1
        """,
        limit,
        _LEFT_ALONE,
    )
    return [_read(row) for row in rows]


def _read(row: Row) -> RunPayment:
    network, payer, tx_hash = Network(row["network"]), row["payer"], row["tx_hash"]
    install_fee = row["install_fee"]
    quote = Quote(
        revision=row["quote_revision"],
        runs=row["runs"],
        per_run=BaseUnits(int(row["per_run"])),
        setup=BaseUnits(int(row["setup"])),
        asset=Address(row["asset"]),
        valid_until=row["valid_until"],
        fees=QuotedFees(
            Stroops(row["fee_stroops"]), None if install_fee is None else Stroops(install_fee)
        ),
        credit=BaseUnits(int(row["credit"])),
    )
    return RunPayment(
        id=row["id"],
        proposal_id=row["proposal_id"],
        network=network,
        quote=quote,
        pay_to=Address(row["pay_to"]) if row["pay_to"] else None,
        identifier=row["payment_identifier"],
        is_top_up=row["is_top_up"],
        state=RunPaymentState(row["state"]),
        created_at=row["created_at"],
        identity=None if payer is None else PaymentIdentity(network, Address(payer), row["nonce"]),
        request_digest=row["request_digest"],
        tx_hash="" if tx_hash is None else tx_hash.hex(),
        failure=row["failure"],
        reserved_at=row["reserved_at"],
        held_until=row["held_until"],
        holds=row["holds"],
    )
