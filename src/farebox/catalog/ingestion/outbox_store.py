"""The catalog's outbox in PostgreSQL: settlements with text and no outcome, and who works on them.

Every function is one statement. None of those that change a settlement's row may be called inside
a transaction: a row that is locked longer than one statement takes would hold up its settlement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from farebox.catalog.listing import ListedTerms
from farebox.catalog.settled import Settled, SettledText
from farebox.facilitator.identity import PaymentIdentity, row_keys
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class Open:
    """A settlement that is still to be listed and is this process's for a time."""

    identity: PaymentIdentity
    failures: int
    checks: int
    needs_check: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """What may be taken: final since `final_before`, and taken by nobody at `now`."""

    now: datetime
    final_before: datetime
    taken_until: datetime
    limit: int
    needs_check: bool = False


async def take_open(db: Connection, turn: Turn) -> list[Open]:
    """Take settlements that are still to be listed, oldest first; no two processes take the same.

    Nothing is locked beyond the statement: whoever dies with a row loses it with its time.
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
        turn.now,
        turn.final_before,
        turn.taken_until,
        turn.limit,
        turn.needs_check,
    )
    return [
        Open(
            PaymentIdentity(Network(row["network"]), Address(row["payer"]), row["nonce"]),
            row["failures"],
            row["checks"],
            row["needs_check"],
        )
        for row in rows
    ]


async def give_back(
    db: Connection, identities: Sequence[PaymentIdentity], *, until: datetime
) -> None:
    """Nobody takes these before `until`, and anybody may afterwards."""
    await db.execute(
        """
        UPDATE listing_attempts a SET taken_until = $4
        FROM unnest($1::text[], $2::text[], $3::bigint[]) AS item (network, payer, nonce)
        WHERE (a.network, a.payer, a.nonce) = (item.network, item.payer, item.nonce)
        """,
        *row_keys(identities),
        until,
    )


async def note_failure(db: Connection, identity: PaymentIdentity, *, until: datetime) -> int:
    """The program failed on this one; how often that has been. Nobody takes it before `until`."""
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


async def ask_for_check(db: Connection, identity: PaymentIdentity, *, at: datetime) -> None:
    """Whether the recipient may take the key over is the resource's to say: it is to be asked."""
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


async def note_check(db: Connection, identity: PaymentIdentity, *, until: datetime) -> None:
    """The resource was asked and said nothing; it is asked again after `until`."""
    await db.execute(
        """
        UPDATE listing_attempts SET checks = checks + 1, taken_until = $4
        WHERE network = $1 AND payer = $2 AND nonce = $3
        """,
        *identity.row_key,
        until,
    )


async def find_text(db: Connection, identity: PaymentIdentity) -> SettledText | None:
    """What a final settlement's request said of its resource; None when nothing was kept."""
    row = await db.fetchrow(
        """
        SELECT s.asset, s.amount, s.pay_to, s.max_timeout_s, s.ledger, s.finished_at, s.discovery,
               coalesce(s.listing_outcome, d.outcome) AS outcome
        FROM settlements s
        LEFT JOIN listing_decisions d USING (network, payer, nonce)
        WHERE s.network = $1 AND s.payer = $2 AND s.nonce = $3
          AND s.state = 'confirmed' AND s.discovery IS NOT NULL
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
    settled = Settled(identity, terms, row["ledger"], row["finished_at"])
    return SettledText(settled, bytes(row["discovery"]), row["outcome"])


async def decide(db: Connection, identity: PaymentIdentity, outcome: str) -> bool:
    """Write down what a settlement's listing comes to, in the transaction that makes it so.

    False when it is decided already; a decision that another makes now is waited for.
    """
    decided = await db.fetchval(
        """
        INSERT INTO listing_decisions (network, payer, nonce, outcome) VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING
        RETURNING true
        """,
        *identity.row_key,
        outcome,
    )
    return decided is True


async def decide_otherwise(db: Connection, identity: PaymentIdentity, outcome: str) -> None:
    """The decision that this transaction wrote down says this instead."""
    await db.execute(
        """
        UPDATE listing_decisions SET outcome = $4
        WHERE network = $1 AND payer = $2 AND nonce = $3
        """,
        *identity.row_key,
        outcome,
    )


async def is_marked(db: Connection, identity: PaymentIdentity) -> bool:
    """Whether the settlement says already what its listing came to."""
    marked = await db.fetchval(
        """
        SELECT listing_outcome IS NOT NULL FROM settlements
        WHERE network = $1 AND payer = $2 AND nonce = $3
        """,
        *identity.row_key,
    )
    return marked is not False


async def mark(db: Connection, identity: PaymentIdentity, outcome: str) -> None:
    """The settlement says what its listing came to, and nothing is left to do for it.

    What it said before stands. Never inside a transaction.
    """
    await db.execute(
        """
        WITH marked AS (
            UPDATE settlements SET listing_outcome = $4
            WHERE network = $1 AND payer = $2 AND nonce = $3 AND listing_outcome IS NULL),
        decided AS (
            DELETE FROM listing_decisions WHERE network = $1 AND payer = $2 AND nonce = $3)
        DELETE FROM listing_attempts WHERE network = $1 AND payer = $2 AND nonce = $3
        """,
        *identity.row_key,
        outcome,
    )
