"""Who has paid whom, in PostgreSQL: read from the journal once, followed back from payers.

`db` is a connection.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.catalog.quality.cluster import Funding
from farebox.storage.pool import Connection

MAX_FUNDERS: Final = 64  # of one account that are followed back
MAX_FOLLOWED: Final = 2_000  # accounts, for one listing
_READERS: Final = 0x70617973  # the advisory lock of whoever reads the journal
_MAX_ASKED: Final = 1_000  # listings that are asked to be counted again after one batch


@dataclass(frozen=True, slots=True)
class Payments:
    """What a batch of the journal held."""

    read: int
    asked: int  # listings that are to be counted again because of it


async def read_payments(db: Connection, *, ended_before: datetime, limit: int) -> Payments:
    """The next settlements of the journal are in links and flows, each once; `db` in a transaction.

    Nothing is read while another process reads.
    """
    if not await db.fetchval("SELECT pg_try_advisory_xact_lock($1)", _READERS):
        return Payments(0, 0)
    place = await db.fetchrow("SELECT finished_at, network, payer, nonce FROM payment_reading")
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
        *(place or (None, None, None, None)),
        limit,
    )
    if not batch:
        return Payments(0, 0)
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
    return Payments(len(batch), await _add_links(db, paid[:3]))


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
    """Listings paid for by somebody whom a new funder has paid are asked to be counted again."""
    asked = await db.execute(
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
        INSERT INTO listing_recounts AS asked (listing_id, changes)
        SELECT id, 1 FROM touched
        ON CONFLICT (listing_id) DO UPDATE SET changes = asked.changes + 1
        """,
        *paid,
        _MAX_ASKED,
    )
    return int(asked.split()[-1])


async def follow_back(
    db: Connection, network: str, accounts: Collection[str], *, recipient: str
) -> Funding:
    """Who funded these accounts, and who funded those, up to the bounds above.

    `accounts` are funded through this service; so is whoever stands in the answer as paid.
    """
    paid_by: dict[str, list[str]] = {}
    following = {*accounts, *await _funded(db, network, {recipient})}
    while following and len(paid_by) + len(following) <= MAX_FOLLOWED:
        rows = await db.fetch(
            """
            SELECT asked.account, link.payer
            FROM unnest($2::text[]) AS asked (account), LATERAL (
                SELECT payer FROM payment_links
                WHERE network = $1 AND pay_to = asked.account
                ORDER BY payer LIMIT $3) AS link
            """,
            network,
            sorted(following),
            MAX_FUNDERS,
        )
        paid_by |= {account: [] for account in following}
        for row in rows:
            paid_by[row["account"]].append(row["payer"])
        found = {row["payer"] for row in rows} - paid_by.keys()
        following = await _funded(db, network, found)
    return Funding(paid_by, unfollowed=following)


async def _funded(db: Connection, network: str, accounts: Collection[str]) -> set[str]:
    rows = await db.fetch(
        """
        SELECT DISTINCT account FROM payment_flows
        WHERE network = $1 AND account = ANY ($2::text[]) AND is_funding
        """,
        network,
        sorted(accounts),
    )
    return {row["account"] for row in rows}
