"""Payments of all kinds: settlements, with the sale of those that were presented at the gateway."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.payment import MAX_ATTEMPTS, RETRIES_FOR
from farebox.gateway.payments.payment_record import (
    GatewaySale,
    PartyRole,
    PaymentRecord,
    RecordState,
)
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Row

_STATE: Final = """
    CASE WHEN g.state IN ('paid', 'delivered', 'owed', 'refunded') THEN g.state
         WHEN s.state = 'confirmed' AND g.state IS NOT NULL THEN 'paid'
         WHEN s.state = 'confirmed' THEN 'settled'
         WHEN s.state IN ('failed', 'dead') THEN 'failed'
         WHEN s.state = 'unproven' THEN 'unproven'
         ELSE 'pending' END
"""
_SELECT: Final = f"""
    SELECT s.network, s.payer, s.nonce, s.asset, s.amount, s.pay_to, s.reason, s.claimed_at,
           s.ledger, coalesce(s.landed_hash, s.tx_hash) AS tx_hash, s.tx_hash AS sent_hash,
           coalesce(g.paid_at, s.finished_at) AS settled_at, {_STATE} AS shown_state,
           g.wrapper_id, g.owner, g.slug, g.method, g.path, g.attempts, g.status, g.paid_at,
           g.ended_at, g.refund_hash,
           CASE WHEN g.state = 'paid' AND g.may_repeat
                     AND g.paid_at > clock_timestamp() - interval '{RETRIES_FOR.total_seconds()} s'
                THEN {MAX_ATTEMPTS} - g.attempts ELSE 0 END AS attempts_left
    FROM settlements s LEFT JOIN gateway_payments g USING (network, payer, nonce)
"""


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which payments a list has; None admits every value."""

    role: PartyRole
    party: str  # the wallet's address, or the owner's id for `SETTLED`
    network: Network | None = None
    state: RecordState | None = None
    wrapper_id: str | None = None
    since: datetime | None = None  # included
    until: datetime | None = None  # not included


async def find_record(db: Connection, tx_hash: bytes) -> PaymentRecord | None:
    """Find a payment by the outer or inner hash of any envelope of it, or by a foreign hash."""
    row = await db.fetchrow(
        _SELECT
        + """
        WHERE (s.network, s.payer, s.nonce) IN (
            SELECT network, payer, nonce FROM settlements
            WHERE tx_hash = $1 OR inner_hash = $1 OR landed_hash = $1
            UNION ALL
            SELECT network, payer, nonce FROM replaced_envelopes
            WHERE tx_hash = $1 OR inner_hash = $1)
        ORDER BY s.landed_hash = $1 NULLS FIRST LIMIT 1
        """,
        tx_hash,
    )
    return None if row is None else _read(row)


async def list_records(
    db: Connection, wanted: RecordFilter, *, after: tuple[datetime, str] | None, limit: int
) -> Sequence[PaymentRecord]:
    """List payments after a place (time of the claim, hash that was sent), newest first."""
    at, tx_hash = after or (None, "")
    rows = await db.fetch(
        _SELECT
        + f"""
        WHERE s.{_COLUMN_OF[wanted.role]} = $1 AND s.tx_hash IS NOT NULL
          AND ($2::text IS NULL OR s.network = $2)
          AND ($3::text IS NULL OR {_STATE} = $3)
          AND ($4::text IS NULL OR g.wrapper_id = $4)
          AND ($5::timestamptz IS NULL OR s.claimed_at >= $5)
          AND ($6::timestamptz IS NULL OR s.claimed_at < $6)
          AND ($7::timestamptz IS NULL OR (s.claimed_at, s.tx_hash) < ($7, $8::bytea))
        ORDER BY s.claimed_at DESC, s.tx_hash DESC LIMIT $9
        """,
        wanted.party,
        None if wanted.network is None else wanted.network.value,
        None if wanted.state is None else wanted.state.value,
        wanted.wrapper_id,
        wanted.since,
        wanted.until,
        at,
        bytes.fromhex(tx_hash),
        limit,
    )
    return [_read(row) for row in rows]


async def record_refund(db: Connection, identity: PaymentIdentity, refund_hash: str) -> bool:
    """Record the refund of an owed payment; False when it is not owed.

    Raises:
        Conflict: the transaction is the refund of another payment.
    """
    is_recorded = await db.fetchval(
        """
        UPDATE gateway_payments
        SET state = 'refunded', refund_hash = $4, ended_at = clock_timestamp()
        WHERE (network, payer, nonce) = ($1, $2, $3) AND state = 'owed'
        RETURNING true
        """,
        *identity.row_key,
        bytes.fromhex(refund_hash),
    )
    return is_recorded is True


_COLUMN_OF: Final = {
    PartyRole.RECEIVED: "pay_to",
    PartyRole.PAID: "payer",
    PartyRole.SETTLED: "caller",
}


def _read(row: Row) -> PaymentRecord:
    return PaymentRecord(
        identity=PaymentIdentity(Network(row["network"]), Address(row["payer"]), row["nonce"]),
        tx_hash=row["tx_hash"].hex(),
        sent_hash=row["sent_hash"].hex(),
        asset=Address(row["asset"]),
        amount=BaseUnits(int(row["amount"])),
        pay_to=Address(row["pay_to"]),
        state=RecordState(row["shown_state"]),
        reason=row["reason"],
        claimed_at=row["claimed_at"],
        settled_at=row["settled_at"],
        ledger=row["ledger"],
        attempts_left=row["attempts_left"],
        refund_hash=row["refund_hash"].hex() if row["refund_hash"] is not None else "",
        sale=None if row["wrapper_id"] is None else _read_sale(row),
    )


def _read_sale(row: Row) -> GatewaySale:
    return GatewaySale(
        wrapper_id=row["wrapper_id"],
        owner=OwnerId(row["owner"]),
        slug=row["slug"],
        method=row["method"],
        path=row["path"],
        attempts=row["attempts"],
        status=row["status"],
        paid_at=row["paid_at"],
        ended_at=row["ended_at"],
    )
