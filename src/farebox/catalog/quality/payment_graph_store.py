"""The graph of payments in PostgreSQL: built from the journal, traced back from payers.

`db` is a connection.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.catalog.quality.payer_clusters import FundingGraph
from farebox.storage.pool import Connection

MAX_FUNDERS: Final = 64  # of one account that are traced
MAX_TRACED: Final = 2_000  # accounts, for one listing
_READERS: Final = 0x70617973  # the advisory lock of reading the journal
_MAX_RECOUNTS: Final = 1_000  # listings marked for a recount by one batch


@dataclass(frozen=True, slots=True)
class PaymentBatch:
    """The result of reading one batch of the journal."""

    read: int
    recounts: int  # listings marked for a recount


async def read_payments(db: Connection, *, ended_before: datetime, limit: int) -> PaymentBatch:
    """Add the next settlements of the journal to links and flows, each once.

    `db` is in a transaction. Nothing is read while another process reads.
    """
    if not await db.fetchval("SELECT pg_try_advisory_xact_lock($1)", _READERS):
        return PaymentBatch(0, 0)
    position = await db.fetchrow("SELECT finished_at, network, payer, nonce FROM payment_reading")
    batch = await db.fetch(
        """
        SELECT network, payer, nonce, pay_to, asset, amount, finished_at FROM settlements
        WHERE state = 'confirmed' AND finished_at <= $1
          AND finished_at >= coalesce($2::timestamptz, '-infinity')
          AND (finished_at, network, payer, nonce)
              > (coalesce($2, '-infinity'), coalesce($3, ''), coalesce($4, ''),
                 coalesce($5, 0::bigint))
        ORDER BY finished_at, network, payer, nonce
        LIMIT $6
        """,
        ended_before,
        *(position or (None, None, None, None)),
        limit,
    )
    if not batch:
        return PaymentBatch(0, 0)
    last = batch[-1]
    await db.execute(
        """
        INSERT INTO payment_reading (finished_at, network, payer, nonce) VALUES ($1, $2, $3, $4)
        ON CONFLICT (only_one) DO UPDATE
        SET finished_at = excluded.finished_at, network = excluded.network,
            payer = excluded.payer, nonce = excluded.nonce
        """,
        last["finished_at"],
        last["network"],
        last["payer"],
        last["nonce"],
    )
    columns = ("network", "payer", "pay_to", "asset", "amount")
    paid = [[row[name] for row in batch if row["payer"] != row["pay_to"]] for name in columns]
    await _add_flows(db, paid)
    return PaymentBatch(len(batch), await _add_links(db, paid[:3]))


async def _add_flows(db: Connection, paid: list[list[object]]) -> None:
    await db.execute(
        """
        WITH paid AS (
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::numeric[])
                AS paid (network, payer, pay_to, asset, amount)
        )
        INSERT INTO payment_flows AS known (network, account, asset, spent, received)
        SELECT network, account, asset, sum(spent), sum(received)
        FROM (SELECT network, payer AS account, asset, amount AS spent, 0 AS received FROM paid
              UNION ALL SELECT network, pay_to, asset, 0, amount FROM paid) AS each_way
        GROUP BY network, account, asset
        ON CONFLICT (network, account, asset) DO UPDATE
        SET spent = known.spent + excluded.spent, received = known.received + excluded.received
        """,
        *paid,
    )


async def _add_links(db: Connection, paid: list[list[object]]) -> int:
    """Add links; mark the listings for a recount whose payers got a new funder."""
    status = await db.execute(
        """
        WITH added AS (
            INSERT INTO payment_links (network, payer, pay_to)
            SELECT DISTINCT network, payer, pay_to
            FROM unnest($1::text[], $2::text[], $3::text[]) AS paid (network, payer, pay_to)
            ON CONFLICT DO NOTHING
            RETURNING network, pay_to
        ), touched AS (
            SELECT DISTINCT listings.id
            FROM added
            JOIN listing_payers ON listing_payers.payer = added.pay_to
            JOIN listings ON listings.id = listing_payers.listing_id
                AND listings.network = added.network
            ORDER BY listings.id LIMIT $4
        )
        INSERT INTO listing_recounts AS pending (listing_id, changes)
        SELECT id, 1 FROM touched
        ON CONFLICT (listing_id) DO UPDATE SET changes = pending.changes + 1
        """,
        *paid,
        _MAX_RECOUNTS,
    )
    return int(status.split()[-1])


async def find_funding(
    db: Connection, network: str, accounts: Collection[str], *, recipient: str
) -> FundingGraph:
    """Trace who funded these accounts, and who funded those, up to the limits above.

    All `accounts` are funded through this service, and so are all keys of the graph.
    """
    paid_by: dict[str, list[str]] = {}
    frontier = {*accounts, *await _select_funded(db, network, {recipient})}
    while frontier and len(paid_by) + len(frontier) <= MAX_TRACED:
        rows = await db.fetch(
            """
            SELECT funded.account, link.payer
            FROM unnest($2::text[]) AS funded (account), LATERAL (
                SELECT payer FROM payment_links
                WHERE network = $1 AND pay_to = funded.account
                ORDER BY payer LIMIT $3) AS link
            """,
            network,
            sorted(frontier),
            MAX_FUNDERS,
        )
        paid_by |= {account: [] for account in frontier}
        for row in rows:
            paid_by[row["account"]].append(row["payer"])
        funders = {row["payer"] for row in rows} - paid_by.keys()
        frontier = await _select_funded(db, network, funders)
    return FundingGraph(paid_by, untraced=frontier)


async def _select_funded(db: Connection, network: str, accounts: Collection[str]) -> set[str]:
    rows = await db.fetch(
        """
        SELECT DISTINCT account FROM payment_flows
        WHERE network = $1 AND account = ANY ($2::text[]) AND is_funding
        """,
        network,
        sorted(accounts),
    )
    return {row["account"] for row in rows}
