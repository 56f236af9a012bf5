"""Fills a database with settlements, payers and counters by SQL, as the service stores them.

It writes day after day, oldest first, and prunes after each day, so that later rows reuse the space
of pruned ones.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from farebox.app.retention import prune_rules
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerReading
from farebox.storage.pool import Connection, Database
from farebox.storage.prune import Pruner
from testing.database import connected
from testing.machine import say

NETWORK: Final = Network.TESTNET
DAYS: Final = 5  # of settlements; a payer pays once a day
LEDGER: Final = 10_000_000  # the newest one
CHARGED: Final = 23_000  # stroops, a plain transfer
CALLER: Final = "user_of_the_bench"  # the caller of every fifth settlement
UNRESOLVED: Final = 50  # of each size
_CADENCE_S: Final = 5
_ENVELOPE_BYTES: Final = 1_200
_SELLERS: Final = 1_000
_CALLERS: Final = 50
_NEAR_LIMIT: Final = 20  # payers at their daily limit, of each size
_NAMED_EVERY: Final = 10  # one settlement in ten has an idempotency key
_ANSWER_BYTES: Final = 300

# addresses are invented and have the right length
_PAYER: Final = "'G' || substr(upper(md5('payer' || i) || md5('again' || i)), 1, 55)"
_SELLER: Final = "'G' || substr(upper(md5('seller' || {0}) || md5('again' || {0})), 1, 55)"
_ROWS: Final = f"""
    WITH paid AS (
        SELECT i, $3::integer::bigint * 1000000000 + i AS nonce,
               date_trunc('day', now()) - make_interval(days => $3::integer)
                   + i % 80000 * interval '0.2 second' AS at,
               {_PAYER} AS payer, (i * 7 + $3::integer / 3) % {_SELLERS} AS seller,
               sha256(convert_to('tx' || i || ' ' || $3::integer, 'UTF8')) AS tx_hash
        FROM generate_series($1::bigint, $2::bigint) AS i)
    INSERT INTO settlements (network, payer, nonce, state, request_digest, claim_id, claimed_at,
        asset, amount, pay_to, expires_at_ledger, tx_hash, inner_hash, envelope, source,
        source_sequence, max_time, fee_limit, sent_after_ledger, ledger, fee_charged, finished_at,
        answered_at, caller, budget_on, asset_is_named, fee_held, max_timeout_s, listing_outcome)
    SELECT '{NETWORK.value}', payer, nonce, 'confirmed', sha256(tx_hash), gen_random_uuid(), at,
        'C' || substr(upper(md5('asset') || md5('again')), 1, 55), 10000,
        {_SELLER.format("seller")}, $4::bigint + 20, tx_hash, sha256(tx_hash || 'inner'::bytea),
        decode(repeat(encode(sha256(tx_hash || 'envelope'::bytea), 'hex'),
                      {_ENVELOPE_BYTES} / 32), 'hex'),
        {_SELLER.format("i % 500")}, i, at + interval '45 seconds', 30000, $4::bigint,
        $4::bigint + 1, {CHARGED},
        at + interval '5 seconds', at + interval '5 seconds',
        CASE WHEN i % 5 = 0 THEN '{CALLER}' WHEN i % 5 = 1 THEN 'user_' || i % {_CALLERS} END,
        at::date, false, {CHARGED}, 60, 'listed'
    FROM paid
"""
_SPENT: Final = """
    INSERT INTO sponsor_spend (network, day, scope, name, stroops)
    SELECT s.network, s.budget_on, each.scope, each.name, sum(s.fee_held)
    FROM settlements s CROSS JOIN LATERAL (VALUES
        ('total', ''), ('payer', s.payer), ('pay_to', s.pay_to), ('key', s.caller),
        ('other_assets', '')) AS each (scope, name)
    WHERE s.budget_on = $1 AND each.name IS NOT NULL
    GROUP BY 1, 2, 3, 4
"""
_USED: Final = """
    INSERT INTO settlement_usage (owner, used_on, network, confirmed, fees)
    SELECT caller, budget_on, network, count(*), sum(fee_charged)
    FROM settlements WHERE budget_on = $1 AND caller IS NOT NULL GROUP BY 1, 2, 3
"""
_NAMED: Final = f"""
    INSERT INTO request_names
        (kind, scope, name, network, payer, nonce, request_digest, answer, keep_until)
    SELECT 'idempotency-key', caller, md5(nonce::text), network, payer, nonce, request_digest,
           convert_to(repeat(md5(nonce::text), {_ANSWER_BYTES} / 32), 'UTF8'),
           now() + interval '1 day'
    FROM settlements
    WHERE budget_on = $1 AND caller = '{CALLER}' AND nonce % {_NAMED_EVERY} = 0
"""
_PAID: Final = """
    INSERT INTO payment_links (network, payer, pay_to)
    SELECT DISTINCT network, payer, pay_to FROM settlements;
    INSERT INTO payment_flows (network, account, asset, spent, received)
    SELECT network, account, asset, sum(spent), sum(received)
    FROM (SELECT network, payer AS account, asset, amount AS spent, 0 AS received FROM settlements
          UNION ALL SELECT network, pay_to, asset, 0, amount FROM settlements) AS each_way
    GROUP BY 1, 2, 3
"""
_NEAR: Final = f"""
    UPDATE sponsor_spend SET stroops = 20000000
    WHERE scope = 'payer' AND day = (now() AT TIME ZONE 'UTC')::date AND name IN (
        SELECT {_PAYER} FROM generate_series(1, {_NEAR_LIMIT}) AS i)
"""
_UNRESOLVED: Final = f"""
    UPDATE settlements SET state = 'submitted', finished_at = NULL, answered_at = NULL,
        ledger = NULL, fee_charged = NULL, listing_outcome = NULL,
        claimed_at = now() - interval '90 seconds'
    WHERE budget_on = (now() AT TIME ZONE 'UTC')::date AND payer IN (
        SELECT {_PAYER} FROM generate_series(101, {100 + UNRESOLVED}) AS i)
"""
_RELATIONS: Final = (
    *("settlements", "sponsor_spend", "settlement_usage", "usage_counts", "request_names"),
    *("listing_attempts", "listing_decisions", "payment_links", "payment_flows"),
)


@dataclass(frozen=True, slots=True)
class Size:
    """The number of settlements of a database."""

    settlements: int

    @property
    def payers(self) -> int:
        """The payers of each day."""
        return self.settlements // DAYS


@dataclass(frozen=True, slots=True)
class _PastLedgerClock:
    """A ledger clock at the end of a past day."""

    days_ago: int

    def now(self) -> LedgerReading:
        at = datetime.now(UTC) - timedelta(days=self.days_ago)
        return LedgerReading(_ledger_of(self.days_ago), at, _CADENCE_S, 0.0)


def _ledger_of(days_ago: int) -> int:
    return LEDGER - days_ago * 86_400 // _CADENCE_S


async def add_users(db: Connection, count: int) -> None:
    """Insert users with a key each."""
    await db.execute(
        f"""
        INSERT INTO users (id, network, address)
        SELECT 'user_' || i, '{NETWORK.value}', {_PAYER} FROM generate_series(1, {count}) AS i;
        INSERT INTO api_keys (id, owner, name, prefix, digest, grants)
        SELECT 'key_' || i, 'user_' || i, 'a key', 'fbx_live_', sha256(('key' || i)::bytea), '{{}}'
        FROM generate_series(1, {count}) AS i
        """
    )


async def fill(url: Secret[str], size: Size) -> None:
    """Write the settlements, and prune after each day."""
    async with connected(url) as db:
        for days_ago in reversed(range(DAYS)):
            await _add_day(db, size, days_ago)
            pruned = await _prune(url, days_ago)
            await db.execute("VACUUM (ANALYZE) settlements")
            say(f"{size.settlements:,} settlements: {DAYS - days_ago} of {DAYS} days, {pruned}")
        await db.execute(_PAID)
        await db.execute(_NEAR)
        await db.execute(_UNRESOLVED)
        for name in _RELATIONS:
            await db.execute(f"VACUUM (ANALYZE) {name}")


async def _add_day(db: Connection, size: Size, days_ago: int) -> None:
    await db.execute(_ROWS, 1, size.payers, days_ago, _ledger_of(days_ago))
    day = (datetime.now(UTC) - timedelta(days=days_ago)).date()
    for statement in (_SPENT, _USED):
        await db.execute(statement, day)
    if days_ago <= 1:  # older ones have expired
        await db.execute(_NAMED, day)


async def _prune(url: Secret[str], days_ago: int) -> str:
    """Prune as the service does at the end of that day, without pauses."""
    clock = SystemClock()
    async with Database(url, connections=1, statement_s=60) as database:
        rules = prune_rules(clock, {NETWORK: _PastLedgerClock(days_ago)})
        pruned = await Pruner(database, clock, rules, pause_s=0.0).prune()
    return ", ".join(f"{count:,} {name} pruned" for name, count in pruned.items() if count) or "-"


async def bytes_per_settlement(db: Connection, size: Size) -> dict[str, float]:
    """Measure the bytes for each settlement of every relation, with indexes."""
    rows = await db.fetch(
        """
        SELECT name, pg_total_relation_size(name::regclass) AS size FROM unnest($1::text[]) AS name
        """,
        list(_RELATIONS),
    )
    return {row["name"]: round(row["size"] / size.settlements, 1) for row in rows}
