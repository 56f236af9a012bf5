"""Envelopes in the journal's rows: recorded, replaced, submitted, finalized, withdrawn or dropped.

Functions marked "under the lock" are called in a transaction that holds the networks' lock
(`budget_store`); the sponsor's counters then change in the same statement as the rows. Results are
in the order of the items, and each item has its own. `db` is a connection.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, LiteralString
from uuid import UUID

from farebox.facilitator.budgets.budget import EnvelopeEntry, FeeReservation, RecordingPreconditions
from farebox.facilitator.budgets.budget_store import UPDATE_COUNTERS
from farebox.facilitator.settlement import FinalStatus, PaymentIdentity, list_row_keys
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection
from farebox.submission.fate import SentEnvelope

_LEASE_HOLDS: Final[LiteralString] = """
    (item.epoch = 0 OR EXISTS (
        SELECT FROM channels c
        WHERE c.network = item.network AND c.address = item.source AND c.lease_epoch = item.epoch))
"""


# The rows of a batch, locked the same way round as by every other statement.
_HELD: Final[LiteralString] = """
        WITH held AS (
            SELECT s.network, s.payer, s.nonce
            FROM settlements s JOIN unnest($1::text[], $2::text[], $3::bigint[])
                AS wanted (network, payer, nonce) USING (network, payer, nonce)
            ORDER BY s.network, s.payer, s.nonce
            FOR UPDATE OF s),
"""
# The last envelope of a row, kept in the table of those that were replaced.
_KEPT: Final[LiteralString] = """
        WITH earlier AS (
            SELECT network, payer, nonce, tx_hash, inner_hash, source, source_sequence, max_time,
                   coalesce(fee_limit, 0) AS fee_limit, sent_after_ledger
            FROM settlements
            WHERE network = $1 AND payer = $2 AND nonce = $3 AND tx_hash = $14
              AND state IN ('sending', 'submitted') AND fee_held = $15 AND claim_id = $16
            FOR UPDATE),
        kept AS (
            INSERT INTO replaced_envelopes (network, payer, nonce, tx_hash, inner_hash, source,
                                            source_sequence, max_time, fee_limit,
                                            sent_after_ledger, was_refused)
            SELECT earlier.*, $18 FROM earlier),
"""


async def read_preconditions(
    db: Connection, items: Sequence[EnvelopeEntry]
) -> list[RecordingPreconditions]:
    """Read the preconditions of each item; under the lock they hold until the commit."""
    rows = await db.fetch(
        """
        SELECT EXISTS (SELECT FROM settlements s
                       WHERE s.network = item.network AND s.payer = item.payer
                         AND s.nonce = item.nonce AND s.claim_id = item.claim_id
                         AND s.state = 'claimed')
        """
        " AND "
        + _LEASE_HOLDS
        + """ AS is_held,
               EXISTS (SELECT FROM settlements s
                       WHERE s.tx_hash = item.tx_hash AND s.claim_id = item.claim_id
                         AND s.state = 'sending') AS is_written,
               EXISTS (
                   SELECT FROM settlements s
                   WHERE s.network = item.network AND s.source = item.source
                     AND s.state IN ('sending', 'submitted')) AS source_is_busy,
               EXISTS (SELECT FROM sponsor_stops stop WHERE stop.network = item.network)
                   AS is_stopped
        FROM unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::bigint[],
                    $7::bytea[])
            WITH ORDINALITY AS item (network, payer, nonce, claim_id, source, epoch, tx_hash, i)
        ORDER BY item.i
        """,
        *list_row_keys([item.claim.identity for item in items]),
        [item.claim.claim_id for item in items],
        [item.sent.source for item in items],
        [item.epoch for item in items],
        [item.sent.tx_hash for item in items],
    )
    return [RecordingPreconditions(**dict(row)) for row in rows]


async def record_sending(db: Connection, items: Sequence[EnvelopeEntry]) -> list[bool]:
    """Record envelopes before the network sees them; whether each was. Under the lock.

    Raises:
        UniqueViolationError: a source has an unresolved envelope; nothing was written.
    """
    rows = await db.fetch(
        _HELD
        + """
        moved AS (
            UPDATE settlements s
            SET state = 'sending', tx_hash = item.tx_hash, envelope = item.envelope,
                source = item.source, source_sequence = item.source_sequence,
                max_time = item.max_time, fee_limit = item.fee_limit,
                sent_after_ledger = item.sent_after_ledger, inner_hash = item.inner_hash,
                budget_on = item.budget_on, asset_is_named = item.asset_is_named,
                fee_held = item.fee_limit, fee_lost = item.fee_limit
            FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::bytea[], $6::text[],
                        $7::bigint[], $8::timestamptz[], $9::bigint[], $10::bigint[],
                        $11::bytea[], $12::uuid[], $13::bigint[], $14::date[], $15::boolean[])
                WITH ORDINALITY AS item (
                    network, payer, nonce, tx_hash, envelope, source, source_sequence, max_time,
                    fee_limit, sent_after_ledger, inner_hash, claim_id, epoch, budget_on,
                    asset_is_named, i)
            JOIN held USING (network, payer, nonce)
            WHERE s.network = item.network AND s.payer = item.payer AND s.nonce = item.nonce
              AND s.claim_id = item.claim_id AND s.state = 'claimed'
              AND """
        + _LEASE_HOLDS
        + """
            RETURNING item.i, s.network, s.budget_on, s.payer, s.pay_to, s.caller, s.budget_owner,
                      s.asset, s.asset_is_named, s.fee_held AS held, s.fee_lost AS lost),
        """
        + UPDATE_COUNTERS
        + "SELECT i FROM moved",
        *list_row_keys([item.claim.identity for item in items]),
        *_list_columns([item.sent for item in items]),
        [item.claim.claim_id for item in items],
        [item.epoch for item in items],
        [item.day for item in items],
        [item.asset_is_named for item in items],
    )
    return _list_changed(items, {row["i"] for row in rows})


async def find_reservation(
    db: Connection, identity: PaymentIdentity, tx_hash: bytes
) -> FeeReservation | None:
    """The reservation of the row that still has this envelope, or None. Under the lock."""
    row = await db.fetchrow(
        """
        SELECT s.budget_on, s.asset_is_named, s.fee_held, s.fee_lost,
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
    return FeeReservation(
        day=row["budget_on"],
        asset_is_named=row["asset_is_named"],
        stroops=row["fee_held"],
        at_risk=row["fee_lost"],
        is_stopped=row["is_stopped"],
    )


async def replace_envelope(db: Connection, item: EnvelopeEntry, *, held: FeeReservation) -> bool:
    """Record an envelope in place of the last one that it replaces, which stays to be looked for.

    `held` is the reservation of the row. Under the lock.

    Raises:
        UniqueViolationError: the source has another unresolved envelope; nothing was written.
    """
    replaced = await db.fetchval(
        _KEPT
        + """
        moved AS (
            UPDATE settlements s
            SET state = 'sending', tx_hash = $4, envelope = $5, source = $6,
                source_sequence = $7, max_time = $8,
                fee_limit = $9, sent_after_ledger = $10, inner_hash = $11, budget_on = $12,
                asset_is_named = $13, fee_held = $9, fee_lost = $9
            FROM earlier
            WHERE (s.network, s.payer, s.nonce) = (earlier.network, earlier.payer, earlier.nonce)
            RETURNING s.network, s.budget_on, s.payer, s.pay_to, s.caller, s.budget_owner, s.asset,
                      s.asset_is_named, s.fee_held - $15 AS held, s.fee_lost - $17 AS lost),
        """
        + UPDATE_COUNTERS
        + "SELECT true FROM moved",
        *item.claim.identity.row_key,
        *_columns(item.sent),
        item.day,
        item.asset_is_named,
        item.sent.replaced[-1].tx_hash,
        held.stroops,
        item.claim.claim_id,
        held.at_risk,
        item.sent.replaced[-1].was_refused,
    )
    return replaced is True


async def take_envelope_over(
    db: Connection, identity: PaymentIdentity, tx_hash: bytes, *, from_claim: UUID, to_claim: UUID
) -> bool:
    """Give the row a new claim; the earlier one can neither withdraw nor replace its envelope.

    False when another claim has it, or its state is no longer `sending`.
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
    """Delete the row of an envelope that certainly never left this process. Under the lock.

    A row is kept while an envelope that was replaced may be out: one that no node has refused.
    """
    withdrawn = await db.fetchval(
        """
        WITH moved AS (
            DELETE FROM settlements
            WHERE network = $1 AND payer = $2 AND nonce = $3 AND tx_hash = $4 AND state = 'sending'
              AND claim_id = $5
              AND NOT EXISTS (SELECT FROM replaced_envelopes r
                              WHERE (r.network, r.payer, r.nonce) = ($1, $2, $3)
                                AND NOT r.was_refused)
            RETURNING network, budget_on, payer, pay_to, caller, budget_owner, asset,
                      asset_is_named, -fee_held AS held, -fee_lost AS lost),
        """
        + UPDATE_COUNTERS
        + "SELECT true FROM moved",
        *identity.row_key,
        tx_hash,
        claim_id,
    )
    return withdrawn is True


async def record_submitted(db: Connection, hashes: Sequence[bytes]) -> list[bool]:
    """Record that a node took the envelopes; whether each row changed."""
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
    return _mark_first(hashes, {row["tx_hash"] for row in rows})


_FINALIZE: Final[LiteralString] = (
    """
        WITH ended AS (
            SELECT s.network, s.payer, s.nonce, s.fee_held AS was_held, s.fee_lost AS was_lost,
                   item.*
            FROM (SELECT DISTINCT ON (tx_hash) *
                  FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::bigint[],
                              $6::bigint[], $7::boolean[], $9::bytea[],
                              $10::timestamptz[]) WITH ORDINALITY
                      AS item (tx_hash, state, reason, detail, ledger, fee_charged, is_loss,
                               landed_hash, landed_at, i)
                  ORDER BY tx_hash, i) AS item
            JOIN settlements s ON s.tx_hash = item.tx_hash
            WHERE s.state IN ('sending', 'submitted')
               OR s.state = 'unproven' AND item.state <> 'unproven'
            ORDER BY s.network, s.payer, s.nonce
            FOR UPDATE OF s),
        moved AS (
            UPDATE settlements s
            SET state = ended.state, reason = ended.reason, detail = ended.detail,
                ledger = ended.ledger, fee_charged = ended.fee_charged, finished_at = $8,
                next_look_at = CASE WHEN ended.state = 'unproven'
                                    THEN $8::timestamptz + interval '1 hour' END,
                landed_hash = ended.landed_hash, landed_at = ended.landed_at,
                discovery = CASE WHEN ended.state = 'confirmed' THEN s.discovery END,
                fee_held = CASE WHEN s.budget_on IS NULL THEN 0
                                WHEN ended.state = 'unproven' THEN s.fee_held
                                ELSE coalesce(ended.fee_charged, 0) END,
                fee_lost = CASE WHEN s.budget_on IS NOT NULL AND ended.is_loss
                                THEN coalesce(ended.fee_charged, 0) ELSE 0 END
            FROM ended
            WHERE s.network = ended.network AND s.payer = ended.payer AND s.nonce = ended.nonce
            RETURNING ended.i, s.network, s.budget_on, s.payer, s.pay_to, s.caller, s.budget_owner,
                      s.asset, s.asset_is_named, s.fee_held - ended.was_held AS held,
                      s.fee_lost - ended.was_lost AS lost),
        """
    + UPDATE_COUNTERS
    + "SELECT i FROM moved"
)


async def record_final(
    db: Connection, finals: Sequence[tuple[bytes, FinalStatus]], *, at: datetime
) -> list[bool]:
    """Record the final statuses of envelopes; False where one was final already. Under the lock.

    An unproven row is final until its outcome is proven after all.

    The fee charged stays spent and the rest of the reservation is freed; where the fee
    charged is not known, all of it stays spent.
    """
    rows = await db.fetch(
        _FINALIZE,
        [tx_hash for tx_hash, _ in finals],
        [final.state.value for _, final in finals],
        [final.reason.value if final.reason is not None else None for _, final in finals],
        [final.detail for _, final in finals],
        [final.ledger for _, final in finals],
        [final.fee_charged for _, final in finals],
        [final.is_payer_loss for _, final in finals],
        at,
        [final.landed_hash for _, final in finals],
        [final.landed_at for _, final in finals],
    )
    return _list_changed(finals, {row["i"] for row in rows})


async def drop_envelopes(
    db: Connection,
    network: Network,
    *,
    expired_before_ledger: int,
    finished_before: datetime,
    limit: int,
) -> int:
    """Remove the envelopes of at most `limit` final rows; returns their number.

    The columns that answer a repeat stay: hashes, state, reason, digest, terms. A locked row is
    skipped. Resource metadata that an older version of the program left behind is removed too,
    unless it is still to be listed.
    """
    rows = await db.fetch(
        """
        WITH over AS MATERIALIZED (  -- a join might read a subquery with a limit more than once
            SELECT network, payer, nonce FROM settlements
            WHERE network = $1 AND expires_at_ledger < $2 AND finished_at < $3
              AND envelope <> '' AND state IN ('confirmed', 'failed', 'dead')
            ORDER BY expires_at_ledger
            LIMIT $4 FOR UPDATE SKIP LOCKED
        )
        UPDATE settlements s
        SET envelope = '',
            discovery = CASE WHEN s.state = 'confirmed' AND s.listing_outcome IS NULL
                             THEN s.discovery END
        FROM over
        WHERE s.network = over.network AND s.payer = over.payer AND s.nonce = over.nonce
        RETURNING true
        """,
        network.value,
        expired_before_ledger,
        finished_before,
        limit,
    )
    return len(rows)


def _columns(sent: SentEnvelope) -> tuple[object, ...]:
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


def _list_columns(sent: Sequence[SentEnvelope]) -> tuple[list[object], ...]:
    return tuple(map(list, zip(*map(_columns, sent), strict=True)))


def _list_changed(items: Sequence[object], changed: set[int]) -> list[bool]:
    """Whether each item changed its row, from the numbers (1, 2, …) of `WITH ORDINALITY`."""
    return [number in changed for number in range(1, len(items) + 1)]


def _mark_first(keys: Sequence[bytes], changed: set[bytes]) -> list[bool]:
    """True for the first mention of each changed key: only one caller moved the row."""
    return [key in changed and keys.index(key) == index for index, key in enumerate(keys)]
