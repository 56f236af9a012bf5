"""Envelopes in the journal's rows: written down, replaced, taken, ended or withdrawn, many at once.

Each function is called inside a transaction that holds the networks' lock (`budget_store`) where
it says so; then the sponsor's counters move in the same statement as the rows. Its answers stand
in the order of its items, and each item is answered for itself.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, LiteralString
from uuid import UUID

from farebox.facilitator.budgets.admission import Held, Sending, Standing
from farebox.facilitator.budgets.budget_store import COUNTED
from farebox.facilitator.identity import PaymentIdentity, row_keys
from farebox.facilitator.settlement import Ending
from farebox.storage.pool import Connection
from farebox.submission.fate import SentEnvelope

_LEASE_HOLDS: Final[LiteralString] = """
    (item.epoch = 0 OR EXISTS (
        SELECT FROM channels c
        WHERE c.network = item.network AND c.address = item.source AND c.lease_epoch = item.epoch))
"""


async def read_standing(db: Connection, items: Sequence[Sending]) -> list[Standing]:
    """What each item meets now. Under the networks' lock it stays so until the commit."""
    rows = await db.fetch(
        """
        SELECT EXISTS (
                   SELECT FROM settlements s
                   WHERE s.network = item.network AND s.payer = item.payer AND s.nonce = item.nonce
                     AND s.claim_id = item.claim_id AND s.state = 'claimed')
        """
        " AND "
        + _LEASE_HOLDS
        + """ AS is_held,
               EXISTS (
                   SELECT FROM settlements s
                   WHERE s.network = item.network AND s.source = item.source
                     AND s.state IN ('sending', 'submitted')) AS source_is_busy,
               EXISTS (SELECT FROM sponsor_stops stop WHERE stop.network = item.network)
                   AS is_stopped
        FROM unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::bigint[])
            WITH ORDINALITY AS item (network, payer, nonce, claim_id, source, epoch, i)
        ORDER BY item.i
        """,
        *row_keys([item.claim.identity for item in items]),
        [item.claim.claim_id for item in items],
        [item.sent.source for item in items],
        [item.epoch for item in items],
    )
    return [
        Standing(
            is_held=row["is_held"],
            source_is_busy=row["source_is_busy"],
            is_stopped=row["is_stopped"],
        )
        for row in rows
    ]


async def record_sending(db: Connection, items: Sequence[Sending]) -> list[bool]:
    """Write envelopes down before the network sees them; whether each was. Under the lock.

    Raises:
        UniqueViolationError: a source has an unresolved envelope; nothing was written.
    """
    rows = await db.fetch(
        """
        WITH moved AS (
            UPDATE settlements s
            SET state = 'sending', tx_hash = item.tx_hash, envelope = item.envelope,
                source = item.source, source_sequence = item.source_sequence,
                max_time = item.max_time, fee_limit = item.fee_limit,
                sent_after_ledger = item.sent_after_ledger, inner_hash = item.inner_hash,
                budget_on = item.budget_on, asset_is_named = item.asset_is_named,
                fee_held = item.fee_limit
            FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::bytea[], $6::text[],
                        $7::bigint[], $8::timestamptz[], $9::bigint[], $10::bigint[],
                        $11::bytea[], $12::uuid[], $13::bigint[], $14::date[], $15::boolean[])
                WITH ORDINALITY AS item (
                    network, payer, nonce, tx_hash, envelope, source, source_sequence, max_time,
                    fee_limit, sent_after_ledger, inner_hash, claim_id, epoch, budget_on,
                    asset_is_named, i)
            WHERE s.network = item.network AND s.payer = item.payer AND s.nonce = item.nonce
              AND s.claim_id = item.claim_id AND s.state = 'claimed'
              AND """
        + _LEASE_HOLDS
        + """
            RETURNING item.i, s.network, s.budget_on, s.payer, s.pay_to, s.caller, s.asset,
                      s.asset_is_named, s.fee_held AS held, 0::bigint AS lost),
        """
        + COUNTED
        + "SELECT i FROM moved",
        *row_keys([item.claim.identity for item in items]),
        *_envelopes([item.sent for item in items]),
        [item.claim.claim_id for item in items],
        [item.epoch for item in items],
        [item.day for item in items],
        [item.asset_is_named for item in items],
    )
    return _answers(items, {row["i"] for row in rows})


async def held_by(db: Connection, identity: PaymentIdentity, tx_hash: bytes) -> Held | None:
    """What a row holds that is still about this envelope, or None. Under the lock."""
    row = await db.fetchrow(
        """
        SELECT s.budget_on, s.asset_is_named, s.fee_held,
               EXISTS (SELECT FROM sponsor_stops stop WHERE stop.network = s.network) AS is_stopped
        FROM settlements s
        WHERE s.network = $1 AND s.payer = $2 AND s.nonce = $3 AND s.tx_hash = $4
          AND s.state IN ('sending', 'submitted')
        FOR UPDATE OF s
        """,
        *identity.row_key,
        tx_hash,
    )
    if row is None:
        return None
    return Held(
        day=row["budget_on"],
        asset_is_named=row["asset_is_named"],
        stroops=row["fee_held"],
        is_stopped=row["is_stopped"],
    )


async def replace_dead_envelope(db: Connection, item: Sending, *, dead: bytes, held: int) -> bool:
    """Put an envelope in the place of one that can never land, which held `held`. Under the lock.

    Raises:
        UniqueViolationError: the source has another unresolved envelope; nothing was written.
    """
    replaced = await db.fetchval(
        """
        WITH moved AS (
            UPDATE settlements
            SET state = 'sending', tx_hash = $4, envelope = $5, source = $6,
                source_sequence = $7, max_time = $8,
                fee_limit = $9, sent_after_ledger = $10, inner_hash = $11, budget_on = $12,
                asset_is_named = $13, fee_held = $9
            WHERE network = $1 AND payer = $2 AND nonce = $3 AND tx_hash = $14
              AND state IN ('sending', 'submitted') AND fee_held = $15 AND claim_id = $16
            RETURNING network, budget_on, payer, pay_to, caller, asset, asset_is_named,
                      fee_held - $15 AS held, 0::bigint AS lost),
        """
        + COUNTED
        + "SELECT true FROM moved",
        *item.claim.identity.row_key,
        *_envelope(item.sent),
        item.day,
        item.asset_is_named,
        dead,
        held,
        item.claim.claim_id,
    )
    return replaced is True


async def take_envelope_over(
    db: Connection, identity: PaymentIdentity, tx_hash: bytes, *, from_claim: UUID, to_claim: UUID
) -> bool:
    """Whoever wrote the envelope down neither withdraws nor replaces it from here on.

    False when somebody else took it over, or the row is no longer about to be sent.
    """
    taken = await db.fetchval(
        """
        UPDATE settlements SET claim_id = $6
        WHERE network = $1 AND payer = $2 AND nonce = $3 AND tx_hash = $4 AND state = 'sending'
          AND claim_id = $5
        RETURNING true
        """,
        *identity.row_key,
        tx_hash,
        from_claim,
        to_claim,
    )
    return taken is True


async def withdraw_envelope(
    db: Connection, identity: PaymentIdentity, tx_hash: bytes, *, claim_id: UUID
) -> bool:
    """Give an identity back whose envelope certainly never left this process. Under the lock."""
    withdrawn = await db.fetchval(
        """
        WITH moved AS (
            DELETE FROM settlements
            WHERE network = $1 AND payer = $2 AND nonce = $3 AND tx_hash = $4 AND state = 'sending'
              AND claim_id = $5
            RETURNING network, budget_on, payer, pay_to, caller, asset, asset_is_named,
                      -fee_held AS held, -fee_lost AS lost),
        """
        + COUNTED
        + "SELECT true FROM moved",
        *identity.row_key,
        tx_hash,
        claim_id,
    )
    return withdrawn is True


async def record_submitted(db: Connection, hashes: Sequence[bytes]) -> list[bool]:
    """A node took the envelopes; of each whether that was news."""
    rows = await db.fetch(
        """
        WITH taken AS (
            SELECT network, payer, nonce, tx_hash FROM settlements
            WHERE tx_hash = ANY($1::bytea[]) AND state = 'sending'
            ORDER BY network, payer, nonce
            FOR UPDATE)
        UPDATE settlements s SET state = 'submitted'
        FROM taken
        WHERE s.network = taken.network AND s.payer = taken.payer AND s.nonce = taken.nonce
        RETURNING s.tx_hash
        """,
        hashes,
    )
    return _first_of_each(hashes, {row["tx_hash"] for row in rows})


_END: Final[LiteralString] = (
    """
        WITH ended AS (
            SELECT s.network, s.payer, s.nonce, s.fee_held AS was_held, item.*
            FROM (SELECT DISTINCT ON (tx_hash) *
                  FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::bigint[],
                              $6::bigint[], $7::boolean[], $9::bytea[]) WITH ORDINALITY
                      AS item (tx_hash, state, reason, detail, ledger, fee_charged, is_loss,
                               landed_hash, i)
                  ORDER BY tx_hash, i) AS item
            JOIN settlements s ON s.tx_hash = item.tx_hash
            WHERE s.state IN ('sending', 'submitted')
            ORDER BY s.network, s.payer, s.nonce
            FOR UPDATE OF s),
        moved AS (
            UPDATE settlements s
            SET state = ended.state, reason = ended.reason, detail = ended.detail,
                ledger = ended.ledger, fee_charged = ended.fee_charged, finished_at = $8,
                landed_hash = ended.landed_hash,
                fee_held = CASE WHEN s.budget_on IS NULL THEN 0
                                WHEN ended.state = 'unproven' THEN s.fee_held
                                ELSE coalesce(ended.fee_charged, 0) END,
                fee_lost = CASE WHEN s.budget_on IS NOT NULL AND ended.is_loss
                                THEN coalesce(ended.fee_charged, 0) ELSE 0 END
            FROM ended
            WHERE s.network = ended.network AND s.payer = ended.payer AND s.nonce = ended.nonce
            RETURNING ended.i, s.network, s.budget_on, s.payer, s.pay_to, s.caller, s.asset,
                      s.asset_is_named, s.fee_held - ended.was_held AS held, s.fee_lost AS lost),
        """
    + COUNTED
    + "SELECT i FROM moved"
)


async def record_ends(
    db: Connection, endings: Sequence[tuple[bytes, Ending]], *, at: datetime
) -> list[bool]:
    """Write down the fates of envelopes; False where one was known already. Under the lock.

    What an envelope was charged stays spent, the rest of what it held is free again; where nobody
    knows whether it was charged, all of it stays spent.
    """
    rows = await db.fetch(
        _END,
        [tx_hash for tx_hash, _ in endings],
        [ending.state.value for _, ending in endings],
        [ending.reason.value if ending.reason is not None else None for _, ending in endings],
        [ending.detail for _, ending in endings],
        [ending.ledger for _, ending in endings],
        [ending.fee_charged for _, ending in endings],
        [ending.cost_for_nothing for _, ending in endings],
        at,
        [ending.landed_hash for _, ending in endings],
    )
    return _answers(endings, {row["i"] for row in rows})


def _envelope(sent: SentEnvelope) -> tuple[object, ...]:
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


def _envelopes(sent: Sequence[SentEnvelope]) -> tuple[list[object], ...]:
    return tuple(map(list, zip(*map(_envelope, sent), strict=True)))


def _answers(items: Sequence[object], done: set[int]) -> list[bool]:
    """What `WITH ORDINALITY` counted, from 1 on, as one answer an item."""
    return [place in done for place in range(1, len(items) + 1)]


def _first_of_each(keys: Sequence[bytes], done: set[bytes]) -> list[bool]:
    """True for the first mention of each key that is done: only one caller moved the row."""
    return [key in done and keys.index(key) == place for place, key in enumerate(keys)]
