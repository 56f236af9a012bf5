"""The catalog's outbox in PostgreSQL: settlements with discovery data and no listing outcome.

Every function is one statement. None that changes a settlement's row may be called inside a
transaction: a row locked for longer than one statement would delay its settlement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from farebox.catalog.listing import ListedTerms
from farebox.catalog.settled_payment import SettledDiscovery, SettledPayment
from farebox.facilitator.settlement import PaymentIdentity, list_row_keys
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """A settlement to be listed, claimed by this process until the claim expires."""

    identity: PaymentIdentity
    failures: int  # of earlier attempts
    checks: int  # of ownership that had no result
    needs_check: bool


@dataclass(frozen=True, slots=True)
class OutboxClaim:
    """The settlements to claim: final since `final_before` and not claimed at `now`."""

    now: datetime
    final_before: datetime
    claimed_until: datetime
    limit: int
    needs_check: bool = False


@dataclass(frozen=True, slots=True)
class PendingTakeovers:
    """The numbers of takeovers that wait for a result after an ownership check without one."""

    own: int  # of one recipient
    all: int


async def claim_open(db: Connection, claim: OutboxClaim) -> list[OutboxItem]:
    """Claim settlements to be listed, oldest first; no two processes claim the same.

    A claim is a time and not a lock: that of a process that ended expires.
    """
    rows = await db.fetch(
        """
        INSERT INTO listing_attempts AS attempt (network, payer, nonce, taken_until)
        SELECT s.network, s.payer, s.nonce, $3
        FROM settlements s
        LEFT JOIN listing_attempts a USING (network, payer, nonce)
        WHERE s.state = 'confirmed' AND s.discovery IS NOT NULL AND s.listing_outcome IS NULL
          AND s.finished_at <= $2
          AND coalesce(a.taken_until, '-infinity') <= $1
          AND coalesce(a.needs_check, false) = $5
        ORDER BY s.finished_at, s.network, s.payer, s.nonce
        LIMIT $4
        ON CONFLICT (network, payer, nonce) DO UPDATE SET taken_until = excluded.taken_until
        WHERE attempt.taken_until <= $1
        RETURNING network, payer, nonce, failures, checks, needs_check
        """,
        claim.now,
        claim.final_before,
        claim.claimed_until,
        claim.limit,
        claim.needs_check,
    )
    return [
        OutboxItem(
            PaymentIdentity(Network(row["network"]), Address(row["payer"]), row["nonce"]),
            row["failures"],
            row["checks"],
            row["needs_check"],
        )
        for row in rows
    ]


async def release(
    db: Connection, identities: Sequence[PaymentIdentity], *, until: datetime
) -> None:
    """End the claims at `until`."""
    await db.execute(
        """
        UPDATE listing_attempts a SET taken_until = $4
        FROM unnest($1::text[], $2::text[], $3::bigint[]) AS item (network, payer, nonce)
        WHERE (a.network, a.payer, a.nonce) = (item.network, item.payer, item.nonce)
        """,
        *list_row_keys(identities),
        until,
    )


async def record_failure(db: Connection, identity: PaymentIdentity, *, until: datetime) -> int:
    """Count a failed attempt and delay the next one to `until`; return the count."""
    return int(
        await db.fetchval(
            """
            INSERT INTO listing_attempts AS attempt (network, payer, nonce, taken_until, failures)
            VALUES ($1, $2, $3, $4, 1)
            ON CONFLICT (network, payer, nonce) DO UPDATE
            SET failures = attempt.failures + 1, taken_until = excluded.taken_until
            RETURNING failures
            """,
            *identity.row_key,
            until,
        )
    )


async def request_check(db: Connection, identity: PaymentIdentity, *, at: datetime) -> None:
    """Mark the settlement for an ownership check that is due at `at`."""
    await db.execute(
        """
        INSERT INTO listing_attempts (network, payer, nonce, taken_until, needs_check)
        VALUES ($1, $2, $3, $4, true)
        ON CONFLICT (network, payer, nonce) DO UPDATE
        SET needs_check = true, taken_until = excluded.taken_until
        """,
        *identity.row_key,
        at,
    )


async def record_check(db: Connection, identity: PaymentIdentity, *, until: datetime) -> None:
    """Count an ownership check without a result and delay the next one to `until`."""
    await db.execute(
        """
        UPDATE listing_attempts SET checks = checks + 1, taken_until = $4
        WHERE network = $1 AND payer = $2 AND nonce = $3
        """,
        *identity.row_key,
        until,
    )


async def count_pending_takeovers(db: Connection, pay_to: Address) -> PendingTakeovers:
    """Count the takeovers that wait for a result, the recipient's own and all."""
    row = await db.fetchrow(
        """
        SELECT count(*) FILTER (WHERE s.pay_to = $1) AS own, count(*) AS all
        FROM listing_attempts a JOIN settlements s USING (network, payer, nonce)
        WHERE a.needs_check AND a.checks > 0
        """,
        pay_to,
    )
    return PendingTakeovers(row["own"], row["all"]) if row is not None else PendingTakeovers(0, 0)


async def find_discovery(db: Connection, identity: PaymentIdentity) -> SettledDiscovery | None:
    """Find a final settlement's discovery data; None when none was stored.

    Once the listing outcome is final, only the outcome is left.
    """
    row = await db.fetchrow(
        """
        SELECT s.asset, s.amount, s.pay_to, s.max_timeout_s, s.ledger, s.finished_at, s.discovery,
               coalesce(s.listing_outcome, d.outcome) AS outcome
        FROM settlements s
        LEFT JOIN listing_decisions d USING (network, payer, nonce)
        WHERE s.network = $1 AND s.payer = $2 AND s.nonce = $3
          AND s.state = 'confirmed' AND (s.discovery IS NOT NULL OR s.listing_outcome IS NOT NULL)
        """,
        *identity.row_key,
    )
    if row is None:
        return None
    terms = ListedTerms(
        scheme="exact",
        asset=Address(row["asset"]),
        amount=BaseUnits(int(row["amount"])),
        pay_to=Address(row["pay_to"]),
        max_timeout_s=row["max_timeout_s"],
    )
    settled = SettledPayment(identity, terms, row["ledger"], row["finished_at"])
    return SettledDiscovery(settled, row["discovery"], row["outcome"])


async def insert_decision(db: Connection, identity: PaymentIdentity, outcome: str) -> bool:
    """Insert the listing outcome of a settlement, in the transaction that lists the resource.

    False when there is one; the statement waits for a concurrent decision.
    """
    is_inserted = await db.fetchval(
        """
        INSERT INTO listing_decisions (network, payer, nonce, outcome) VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING
        RETURNING true
        """,
        *identity.row_key,
        outcome,
    )
    return is_inserted is True


async def update_decision(db: Connection, identity: PaymentIdentity, outcome: str) -> None:
    """Replace the outcome that this transaction has inserted."""
    await db.execute(
        """
        UPDATE listing_decisions SET outcome = $4
        WHERE network = $1 AND payer = $2 AND nonce = $3
        """,
        *identity.row_key,
        outcome,
    )


async def has_outcome(db: Connection, identity: PaymentIdentity) -> bool:
    """Whether the settlement's row has a listing outcome."""
    found = await db.fetchval(
        """
        SELECT listing_outcome IS NOT NULL FROM settlements
        WHERE network = $1 AND payer = $2 AND nonce = $3
        """,
        *identity.row_key,
    )
    return found is not False


async def store_outcome(db: Connection, identity: PaymentIdentity, outcome: str) -> None:
    """Store the listing outcome in the settlement's row and delete its discovery data and claim.

    An outcome that is there stays. Not to be called inside a transaction.
    """
    await db.execute(
        """
        WITH marked AS (
            UPDATE settlements SET listing_outcome = $4, discovery = NULL
            WHERE network = $1 AND payer = $2 AND nonce = $3 AND listing_outcome IS NULL),
        decided AS (
            DELETE FROM listing_decisions WHERE network = $1 AND payer = $2 AND nonce = $3)
        DELETE FROM listing_attempts WHERE network = $1 AND payer = $2 AND nonce = $3
        """,
        *identity.row_key,
        outcome,
    )
