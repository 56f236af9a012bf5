"""The settlement journal in PostgreSQL: one row a payment identity, forward by compare-and-set.

Every function is one statement and says whether it happened. `db` is a connection.
"""

from datetime import datetime
from typing import Final, LiteralString
from uuid import UUID

from asyncpg import Record, UniqueViolationError

from farebox.facilitator.identity import PaymentIdentity
from farebox.facilitator.settlement import (
    Claim,
    Ending,
    Recording,
    Settlement,
    SettlementState,
)
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Connection
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason

_SELECT: Final[LiteralString] = """
    SELECT network, payer, nonce, state, claim_id, request_digest, asset, amount, pay_to, tx_hash,
    envelope, source, source_sequence, max_time, fee_limit, sent_after_ledger, inner_hash,
    reason, answered_at, token_unverified, landed_hash
    FROM settlements
"""


async def claim_identity(db: Connection, claim: Claim) -> bool:
    """Take a payment's identity; False when a row of it exists already."""
    inserted = await db.fetchval(
        """
        INSERT INTO settlements (network, payer, nonce, claim_id, request_digest, claimed_at,
                                 asset, amount, pay_to, expires_at_ledger, token_unverified)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT (network, payer, nonce) DO NOTHING
        RETURNING true
        """,
        *_key(claim.identity),
        claim.claim_id,
        claim.request_digest,
        claim.claimed_at,
        claim.asset,
        claim.amount,
        claim.pay_to,
        claim.expires_at_ledger,
        not claim.token_is_verified,
    )
    return inserted is True


async def find_settlement(db: Connection, identity: PaymentIdentity) -> Settlement | None:
    """The row of a payment, or None."""
    row = await db.fetchrow(
        _SELECT + "WHERE network = $1 AND payer = $2 AND nonce = $3",
        *_key(identity),
    )
    return _settlement(row) if row is not None else None


async def find_by_hash(db: Connection, tx_hash: bytes) -> Settlement | None:
    """The row whose envelope has this outer or inner hash, or that it landed as; or None."""
    row = await db.fetchrow(
        _SELECT
        + """
        WHERE tx_hash = $1 OR inner_hash = $1 OR landed_hash = $1
        ORDER BY landed_hash = $1 NULLS FIRST
        LIMIT 1
        """,
        tx_hash,
    )
    return _settlement(row) if row is not None else None


async def release_claim(db: Connection, identity: PaymentIdentity, claim_id: UUID) -> bool:
    """Give an identity back while nothing was signed for it."""
    released = await db.fetchval(
        """
        DELETE FROM settlements
        WHERE network = $1 AND payer = $2 AND nonce = $3 AND claim_id = $4 AND state = 'claimed'
        RETURNING true
        """,
        *_key(identity),
        claim_id,
    )
    return released is True


async def release_stale_claims(db: Connection, network: Network, *, before: datetime) -> int:
    """Give back the identities whose claimant died before it signed; how many there were."""
    rows = await db.fetch(
        """
        DELETE FROM settlements
        WHERE network = $1 AND state = 'claimed' AND claimed_at < $2
        RETURNING payer
        """,
        network.value,
        before,
    )
    return len(rows)


async def record_sending(
    db: Connection,
    identity: PaymentIdentity,
    claim_id: UUID,
    sent: SentEnvelope,
    *,
    epoch: int,
) -> Recording:
    """Write down an envelope before the network sees it."""
    try:
        recorded = await db.fetchval(
            """
            UPDATE settlements
            SET state = 'sending', tx_hash = $5, envelope = $6, source = $7, source_sequence = $8,
                max_time = $9, fee_limit = $10, sent_after_ledger = $11, inner_hash = $12
            WHERE network = $1 AND payer = $2 AND nonce = $3 AND claim_id = $4
              AND state = 'claimed'
              AND ($13::bigint = 0 OR EXISTS (
                  SELECT FROM channels
                  WHERE network = $1 AND address = $7 AND lease_epoch = $13))
            RETURNING true
            """,
            *_key(identity),
            claim_id,
            *_sent(sent),
            epoch,
        )
    except UniqueViolationError:
        return Recording.SOURCE_BUSY
    return Recording.WRITTEN if recorded is True else Recording.CLAIM_LOST


async def replace_dead_envelope(
    db: Connection, identity: PaymentIdentity, *, dead: bytes, sent: SentEnvelope
) -> bool:
    """Put a new envelope in the place of one proven dead, within the call that owns the row."""
    recorded = await db.fetchval(
        """
        UPDATE settlements
        SET tx_hash = $5, envelope = $6, source = $7, source_sequence = $8, max_time = $9,
            fee_limit = $10, sent_after_ledger = $11, inner_hash = $12
        WHERE network = $1 AND payer = $2 AND nonce = $3 AND tx_hash = $4 AND state = 'sending'
        RETURNING true
        """,
        *_key(identity),
        dead,
        *_sent(sent),
    )
    return recorded is True


async def withdraw_envelope(db: Connection, identity: PaymentIdentity, tx_hash: bytes) -> bool:
    """Give an identity back whose envelope certainly never left this process."""
    withdrawn = await db.fetchval(
        """
        DELETE FROM settlements
        WHERE network = $1 AND payer = $2 AND nonce = $3 AND tx_hash = $4 AND state = 'sending'
        RETURNING true
        """,
        *_key(identity),
        tx_hash,
    )
    return withdrawn is True


async def record_submitted(db: Connection, tx_hash: bytes) -> bool:
    """A node took the envelope."""
    recorded = await db.fetchval(
        """
        UPDATE settlements SET state = 'submitted'
        WHERE tx_hash = $1 AND state = 'sending'
        RETURNING true
        """,
        tx_hash,
    )
    return recorded is True


async def record_end(db: Connection, tx_hash: bytes, ending: Ending, *, at: datetime) -> bool:
    """Write down the fate of an envelope; False when it was known already."""
    recorded = await db.fetchval(
        """
        UPDATE settlements
        SET state = $2, reason = $3, detail = $4, ledger = $5, fee_charged = $6, finished_at = $7,
            landed_hash = $8
        WHERE tx_hash = $1 AND state IN ('sending', 'submitted')
        RETURNING true
        """,
        tx_hash,
        ending.state.value,
        ending.reason.value if ending.reason is not None else None,
        ending.detail,
        ending.ledger,
        ending.fee_charged,
        at,
        ending.landed_hash,
    )
    return recorded is True


async def take_success(
    db: Connection, identity: PaymentIdentity, request_digest: bytes, *, at: datetime
) -> bool:
    """Own the one success of a confirmed payment: True for exactly one caller, ever (D1)."""
    taken = await db.fetchval(
        """
        UPDATE settlements SET answered_at = $5
        WHERE network = $1 AND payer = $2 AND nonce = $3 AND request_digest = $4
          AND state = 'confirmed' AND answered_at IS NULL
        RETURNING true
        """,
        *_key(identity),
        request_digest,
        at,
    )
    return taken is True


async def unresolved_settlements(
    db: Connection, network: Network, *, before: datetime, limit: int
) -> list[Settlement]:
    """The rows whose envelope may be with the network, claimed by `before`, oldest first."""
    rows = await db.fetch(
        _SELECT
        + """
        WHERE network = $1 AND state IN ('sending', 'submitted') AND claimed_at <= $2
        ORDER BY claimed_at
        LIMIT $3
        """,
        network.value,
        before,
        limit,
    )
    return [_settlement(row) for row in rows]


def _key(identity: PaymentIdentity) -> tuple[str, str, int]:
    return identity.network.value, identity.payer, identity.nonce


def _sent(sent: SentEnvelope) -> tuple[object, ...]:
    return (
        sent.tx_hash,
        sent.envelope.reveal(),
        sent.source,
        sent.source_sequence,
        sent.max_time,
        sent.fee_limit,
        sent.sent_after_ledger,
        sent.inner_hash,
    )


def _settlement(row: Record) -> Settlement:
    sent = None
    if row["tx_hash"] is not None:
        sent = SentEnvelope(
            tx_hash=row["tx_hash"],
            inner_hash=row["inner_hash"],
            envelope=Secret(row["envelope"]),
            source=Address(row["source"]),
            source_sequence=row["source_sequence"],
            max_time=row["max_time"],
            fee_limit=Stroops(row["fee_limit"]),
            sent_after_ledger=row["sent_after_ledger"],
        )
    return Settlement(
        identity=PaymentIdentity(Network(row["network"]), Address(row["payer"]), row["nonce"]),
        state=SettlementState(row["state"]),
        claim_id=row["claim_id"],
        request_digest=row["request_digest"],
        asset=Address(row["asset"]),
        amount=BaseUnits(int(row["amount"])),
        pay_to=Address(row["pay_to"]),
        sent=sent,
        reason=Reason(row["reason"]) if row["reason"] is not None else None,
        is_answered=row["answered_at"] is not None,
        token_is_verified=not row["token_unverified"],
        landed_hash=row["landed_hash"],
    )
