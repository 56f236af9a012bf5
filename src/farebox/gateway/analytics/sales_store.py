"""The payments of a wrapper: the last ones, revenue by day, and what is owed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class DayRevenue:
    """The payments of one token that landed on a UTC day, without those paid back."""

    day: date
    network: Network
    asset: Address
    amount: int
    payments: int


@dataclass(frozen=True, slots=True)
class WrapperPayment:
    """A payment of a wrapper that has landed."""

    network: Network
    asset: Address
    amount: int
    pay_to: Address
    tx_hash: str
    state: str
    paid_at: datetime


async def list_payments(db: Connection, wrapper_id: str, *, limit: int) -> Sequence[WrapperPayment]:
    """List the wrapper's last payments that have landed, the newest first."""
    rows = await db.fetch(
        """
        SELECT network, asset, amount, pay_to, tx_hash, state, paid_at FROM gateway_payments
        WHERE wrapper_id = $1 AND state <> 'reserved' ORDER BY reserved_at DESC LIMIT $2
        """,
        wrapper_id,
        limit,
    )
    return [
        WrapperPayment(
            Network(row["network"]),
            Address(row["asset"]),
            int(row["amount"]),
            Address(row["pay_to"]),
            row["tx_hash"].hex(),
            row["state"],
            row["paid_at"],
        )
        for row in rows
    ]


async def list_revenue(
    db: Connection, wrapper_id: str, *, first: date, last: date
) -> Sequence[DayRevenue]:
    """List the revenue of a wrapper's days, both ends included, the newest first."""
    rows = await db.fetch(
        """
        SELECT (paid_at AT TIME ZONE 'UTC')::date AS day, network, asset, sum(amount) AS amount,
               count(*) AS payments
        FROM gateway_payments
        WHERE wrapper_id = $1 AND state IN ('paid', 'delivered', 'owed')
          -- a payment lands within a day of its reservation
          AND reserved_at >= ($2::date - 2)::timestamp AT TIME ZONE 'UTC'
          AND (paid_at AT TIME ZONE 'UTC')::date BETWEEN $2 AND $3
        GROUP BY 1, 2, 3 ORDER BY 1 DESC, 2, 3
        """,
        wrapper_id,
        first,
        last,
    )
    return [
        DayRevenue(
            row["day"],
            Network(row["network"]),
            Address(row["asset"]),
            int(row["amount"]),
            row["payments"],
        )
        for row in rows
    ]


async def count_owed(db: Connection, wrapper_id: str) -> int:
    """Count the wrapper's payments that are owed."""
    count: int = await db.fetchval(
        "SELECT count(*) FROM gateway_payments WHERE wrapper_id = $1 AND state = 'owed'",
        wrapper_id,
    )
    return count
