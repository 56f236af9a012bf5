"""The settlement journal in PostgreSQL: one row a payment identity, forward by compare-and-set.

Every function is one statement and returns whether it took effect; one over several items returns
a result for each, in their order, as if it were alone. `db` is a connection.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

from farebox.facilitator.journal.foreign_landing import LostRecord
from farebox.facilitator.journal.settlement_row import SELECT_ROW, read_row
from farebox.facilitator.settlement import (
    LANDED_ELSEWHERE,
    Claim,
    PaymentIdentity,
    Settlement,
    list_row_keys,
)
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


async def claim_identities(db: Connection, claims: Sequence[Claim]) -> list[bool]:
    """Claim payments' identities; False where another claim has one already.

    A claim that is repeated because the response was lost succeeds again.
    """
    rows = await db.fetch(
        """
        INSERT INTO settlements (network, payer, nonce, claim_id, request_digest, claimed_at,
                                 ends_by, asset, amount, pay_to, expires_at_ledger, caller,
                                 token_unverified, max_timeout_s, discovery, budget_owner,
                                 is_purchase)
        SELECT network, payer, nonce, claim_id, request_digest, claimed_at, ends_by,
               asset, amount, pay_to, expires_at_ledger, caller, token_unverified, max_timeout_s,
               discovery, budget_owner, is_purchase
        FROM unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::bytea[],
                    $6::timestamptz[], $7::timestamptz[], $8::text[], $9::numeric[], $10::text[],
                    $11::bigint[], $12::text[], $13::boolean[], $14::integer[], $15::bytea[],
                    $16::text[], $17::boolean[]) WITH ORDINALITY
            AS item (network, payer, nonce, claim_id, request_digest, claimed_at, ends_by,
                     asset, amount, pay_to, expires_at_ledger, caller, token_unverified,
                     max_timeout_s, discovery, budget_owner, is_purchase, i)
        ORDER BY network, payer, nonce, i  -- the same way round in every process
        ON CONFLICT (network, payer, nonce) DO UPDATE SET claim_id = excluded.claim_id
        WHERE settlements.claim_id = excluded.claim_id AND settlements.state = 'claimed'
        RETURNING claim_id
        """,
        *list_row_keys([claim.identity for claim in claims]),
        [claim.claim_id for claim in claims],
        [claim.request_digest for claim in claims],
        [claim.claimed_at for claim in claims],
        [claim.ends_by for claim in claims],
        [claim.asset for claim in claims],
        [claim.amount for claim in claims],
        [claim.pay_to for claim in claims],
        [claim.expires_at_ledger for claim in claims],
        [claim.caller for claim in claims],
        [not claim.token_is_verified for claim in claims],
        [claim.max_timeout_s for claim in claims],
        [claim.discovery for claim in claims],
        [claim.budget_owner for claim in claims],
        [claim.is_purchase for claim in claims],
    )
    claimed = {row["claim_id"] for row in rows}
    return [claim.claim_id in claimed for claim in claims]


async def find_settlements(
    db: Connection, identities: Sequence[PaymentIdentity]
) -> list[Settlement | None]:
    """Find the rows of payments; None where there is none."""
    rows = await db.fetch(
        SELECT_ROW
        + """
        JOIN unnest($1::text[], $2::text[], $3::bigint[]) AS wanted (network, payer, nonce)
          USING (network, payer, nonce)
        """,
        *list_row_keys(identities),
    )
    by_identity = {row.identity: row for row in map(read_row, rows)}
    return [by_identity.get(identity) for identity in identities]


async def find_by_hash(db: Connection, tx_hash: bytes) -> Settlement | None:
    """Find the row by the outer or inner hash of any envelope of it, or by its landed hash.

    None when there is none. A row that made the transaction goes before one that it foiled.
    """
    row = await db.fetchrow(
        SELECT_ROW
        + """
        JOIN (SELECT network, payer, nonce, landed_hash IS NOT DISTINCT FROM $1 AS is_landed
              FROM settlements WHERE tx_hash = $1 OR inner_hash = $1 OR landed_hash = $1
              UNION ALL
              SELECT network, payer, nonce, false
              FROM replaced_envelopes WHERE tx_hash = $1 OR inner_hash = $1) AS named
          USING (network, payer, nonce)
        ORDER BY named.is_landed
        LIMIT 1
        """,
        tx_hash,
    )
    return read_row(row) if row is not None else None


async def release_claim(db: Connection, identity: PaymentIdentity, claim_id: UUID) -> bool:
    """Release an identity while nothing is signed for it."""
    released = await db.fetchval(
        """
        DELETE FROM settlements
        WHERE network = $1 AND payer = $2 AND nonce = $3 AND claim_id = $4 AND state = 'claimed'
        RETURNING true
        """,
        *identity.row_key,
        claim_id,
    )
    return released is True


async def release_stale_claims(db: Connection, network: Network, *, before: datetime) -> int:
    """Release the identities whose process died before it signed; returns their number."""
    rows = await db.fetch(
        """
        DELETE FROM settlements s
        USING (SELECT payer, nonce FROM settlements
               WHERE network = $1 AND state = 'claimed' AND claimed_at < $2
               ORDER BY payer, nonce
               FOR UPDATE SKIP LOCKED) AS stale  -- one that is being recorded is not stale
        WHERE s.network = $1 AND s.payer = stale.payer AND s.nonce = stale.nonce
        RETURNING s.payer
        """,
        network.value,
        before,
    )
    return len(rows)


async def take_successes(
    db: Connection, attempts: Sequence[tuple[PaymentIdentity, bytes, UUID]], *, at: datetime
) -> list[bool]:
    """Take the one success of paid payments: True for exactly one attempt each, ever.

    A payment is paid when its settlement is confirmed, or when another transaction is proven to
    have used its authorization after its row was there. Each item has the digest of the request
    that was accepted for the payment, and the id of the attempt. The attempt that has the success
    gets it again (docs/decisions/0005, 0034).

    `landed_at` is the time of the ledger, in whole seconds and set while it is agreed on;
    `claimed_at` is the database's. A ledger's time behind the database's errs to a duplicate, for a
    landing just after the claim; one ahead of it errs to paid, for a landing just before the claim.
    """
    rows = await db.fetch(
        """
        WITH eligible AS (
            SELECT s.network, s.payer, s.nonce, s.answered_by, item.attempt, item.i
            FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::uuid[])
                WITH ORDINALITY AS item (network, payer, nonce, digest, attempt, i)
            JOIN settlements s
              ON (s.network, s.payer, s.nonce) = (item.network, item.payer, item.nonce)
             AND s.request_digest = item.digest
            WHERE (s.state = 'confirmed'
                   OR s.landed_hash IS NOT NULL AND s.reason = ANY($7)
                      AND s.landed_at > s.claimed_at)
              AND (s.answered_at IS NULL OR s.answered_by = item.attempt)
            ORDER BY s.network, s.payer, s.nonce
            FOR UPDATE OF s),
        owned AS (
            SELECT DISTINCT ON (network, payer, nonce) *
            FROM eligible
            ORDER BY network, payer, nonce, answered_by IS NOT DISTINCT FROM attempt DESC, i)
        UPDATE settlements s
        SET answered_at = coalesce(s.answered_at, $6), answered_by = owned.attempt
        FROM owned
        WHERE (s.network, s.payer, s.nonce) = (owned.network, owned.payer, owned.nonce)
        RETURNING owned.i
        """,
        *list_row_keys([identity for identity, _, _ in attempts]),
        [digest for _, digest, _ in attempts],
        [attempt for _, _, attempt in attempts],
        at,
        [reason.value for reason in LANDED_ELSEWHERE],
    )
    numbers = {row["i"] for row in rows}
    return [number in numbers for number in range(1, len(attempts) + 1)]


async def was_settled_by(
    db: Connection, identity: PaymentIdentity, digest: bytes, caller: OwnerId
) -> bool:
    """Whether the payment is confirmed, by the request of this digest, and this caller sent it."""
    found: bool = await db.fetchval(
        """
        SELECT EXISTS (
            SELECT FROM settlements
            WHERE (network, payer, nonce) = ($1, $2, $3) AND state = 'confirmed'
              AND request_digest = $4 AND caller = $5)
        """,
        identity.network.value,
        identity.payer,
        identity.nonce,
        digest,
        caller,
    )
    return found


async def restore_settlement(db: Connection, lost: LostRecord, *, at: datetime) -> bool:
    """Insert the lost row of a landed payment, confirmed and answered; False when there is a row.

    A row is lost by a failover to a server that lacked the last writes. Whether its one success
    was answered is lost with it, so that no request gets one again.
    """
    landing, identity, terms = lost.landing, lost.identity, lost.payment.terms
    ends_at = landing.call.max_time
    restored = await db.fetchval(
        """
        INSERT INTO settlements (network, payer, nonce, state, claim_id, request_digest, claimed_at,
                                 asset, amount, pay_to, expires_at_ledger, tx_hash, inner_hash,
                                 envelope, source, source_sequence, max_time, ledger,
                                 sent_after_ledger, max_timeout_s, discovery, finished_at,
                                 answered_at, restored_at, landed_at)
        VALUES ($1, $2, $3, 'confirmed', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                $17, $18, $19, $20, $6, $6, $6, $21)
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
        lost.payment.stored_discovery,
        landing.landed_at,
    )
    return restored is True


async def take_restored_success(
    db: Connection,
    identity: PaymentIdentity,
    attempt: UUID,
    *,
    asset: Address,
    amount: BaseUnits,
    pay_to: Address,
) -> tuple[bytes, datetime] | None:
    """Take the success of a restored settlement: the digest of its request, and when it landed.

    A restored row (`restore_settlement`) is confirmed, and answered to nobody who is known. None
    when there is no such row of the transfer, or another attempt has taken it.
    """
    row = await db.fetchrow(
        """
        UPDATE settlements SET answered_by = $4
        WHERE (network, payer, nonce) = ($1, $2, $3) AND state = 'confirmed'
          AND restored_at IS NOT NULL AND answered_by IS NULL
          AND (asset, amount, pay_to) = ($5, $6, $7)
        RETURNING request_digest, landed_at
        """,
        *identity.row_key,
        attempt,
        asset,
        amount,
        pay_to,
    )
    return None if row is None else (row["request_digest"], row["landed_at"])
