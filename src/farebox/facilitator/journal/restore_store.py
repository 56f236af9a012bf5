"""Put back the record of a payment of ours that is on the ledger and no longer in the database.

So it is after a failover to a server that lacked the last writes. `db` is a connection.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.journal.foreign import ForeignLanding
from farebox.storage.pool import Connection
from farebox.x402.payment import Payment


@dataclass(frozen=True, slots=True)
class LostRecord:
    """A payment, as the request that asks for it again has it, and our transaction of it."""

    payment: Payment
    identity: PaymentIdentity
    expires_at_ledger: int
    landing: ForeignLanding


async def restore_settlement(db: Connection, lost: LostRecord, *, at: datetime) -> bool:
    """Write the record as confirmed and answered; False when there is one after all.

    Whether its one success had been answered is gone with the record, so nobody gets one again.
    """
    landing, identity, terms = lost.landing, lost.identity, lost.payment.terms
    ends_at = landing.call.max_time
    restored = await db.fetchval(
        """
        INSERT INTO settlements (network, payer, nonce, state, claim_id, request_digest, claimed_at,
                                 asset, amount, pay_to, expires_at_ledger, tx_hash, inner_hash,
                                 envelope, source, source_sequence, max_time, ledger,
                                 sent_after_ledger, max_timeout_s, discovery, finished_at,
                                 answered_at)
        VALUES ($1, $2, $3, 'confirmed', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                $17, $18, $19, $20, $6, $6)
        ON CONFLICT DO NOTHING
        RETURNING true
        """,
        *identity.row_key,
        uuid4(),
        lost.payment.request_digest(),
        at,
        terms.asset,
        terms.amount,
        terms.pay_to,
        lost.expires_at_ledger,
        landing.tx_hash,
        landing.call.inner_hash(identity.network.id),
        landing.envelope,
        landing.call.source,
        landing.call.sequence,
        at if ends_at is None else datetime.fromtimestamp(ends_at, UTC),
        landing.ledger,
        landing.ledger - 1,
        terms.max_timeout_s,
        lost.payment.kept_discovery,
    )
    return restored is True
