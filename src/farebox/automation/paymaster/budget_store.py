"""The paymaster's budgets and kill switch in PostgreSQL: apart from those of settlement."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final

from farebox.kernel.amounts import NO_STROOPS, Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


class SpendScope(StrEnum):
    """The dimension of a counter of the paymaster."""

    TOTAL = "total"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class AutomationBudgets:
    """The most that runs may cost the paymaster in a UTC day, in stroops; 0 = no limit."""

    total: Stroops = NO_STROOPS
    owner: Stroops = NO_STROOPS

    def limit(self, scope: SpendScope) -> Stroops:
        """The limit of each counter of this scope."""
        return self.total if scope is SpendScope.TOTAL else self.owner


@dataclass(frozen=True, slots=True)
class RunCharge:
    """The most that one envelope may cost, and whose budgets of which day it uses."""

    network: Network
    owner: OwnerId
    day: date
    stroops: Stroops


UNLIMITED: Final = AutomationBudgets()


async def reserve(
    db: Connection, charge: RunCharge, budgets: AutomationBudgets
) -> SpendScope | None:
    """Reserve a charge from both budgets; the scope that is used up, where one is.

    Then the caller rolls its transaction back: one of the counters may have moved.
    """
    row = await db.fetchrow(
        """
        WITH of_owner AS (
            INSERT INTO automation_spend AS s (network, day, scope, name, stroops)
            SELECT $1, $2, 'owner', $3, $4::bigint WHERE $5::bigint = 0 OR $4::bigint <= $5::bigint
            ON CONFLICT (network, day, scope, name) DO UPDATE
            SET stroops = s.stroops + excluded.stroops
            WHERE $5::bigint = 0 OR s.stroops + excluded.stroops <= $5::bigint
            RETURNING 1),
        of_network AS (
            INSERT INTO automation_spend AS s (network, day, scope, name, stroops)
            SELECT $1, $2, 'total', '', $4::bigint
            WHERE ($6::bigint = 0 OR $4::bigint <= $6::bigint) AND EXISTS (SELECT FROM of_owner)
            ON CONFLICT (network, day, scope, name) DO UPDATE
            SET stroops = s.stroops + excluded.stroops
            WHERE $6::bigint = 0 OR s.stroops + excluded.stroops <= $6::bigint
            RETURNING 1)
        SELECT EXISTS (SELECT FROM of_owner) AS owner, EXISTS (SELECT FROM of_network) AS total
        """,
        charge.network.value,
        charge.day,
        charge.owner,
        charge.stroops,
        budgets.owner,
        budgets.total,
    )
    if row is None or not row["owner"]:
        return SpendScope.OWNER
    return None if row["total"] else SpendScope.TOTAL


async def give_back(db: Connection, charge: RunCharge) -> None:
    """Give back what an envelope did not cost of its reservation."""
    await db.execute(
        """
        UPDATE automation_spend SET stroops = stroops - $4
        WHERE network = $1 AND day = $2 AND (scope, name) IN (('owner', $3), ('total', ''))
        """,
        charge.network.value,
        charge.day,
        charge.owner,
        charge.stroops,
    )


async def stop_network(db: Connection, network: Network, *, at: datetime) -> bool:
    """Stop automation on a network; False when it was stopped already.

    The lock waits for every transaction that records an attempt, so that none is recorded after
    the commit. Call it in a transaction.
    """
    await db.execute("LOCK TABLE automation_attempts IN SHARE MODE")
    stopped = await db.fetchval(
        """
        INSERT INTO automation_stops (network, stopped_at) VALUES ($1, $2)
        ON CONFLICT DO NOTHING RETURNING true
        """,
        network.value,
        at,
    )
    return stopped is True


async def start_network(db: Connection, network: Network) -> bool:
    """Let automation go on; False when it was not stopped."""
    started = await db.fetchval(
        "DELETE FROM automation_stops WHERE network = $1 RETURNING true", network.value
    )
    return started is True


async def read_stop_time(db: Connection, network: Network) -> datetime | None:
    """When automation was stopped on the network; None while it runs."""
    stopped_at: datetime | None = await db.fetchval(
        "SELECT stopped_at FROM automation_stops WHERE network = $1", network.value
    )
    return stopped_at


async def read_largest(
    db: Connection, network: Network, day: date, *, each: int
) -> list[tuple[SpendScope, str, int]]:
    """The largest counters of a day: scope, name and stroops; the network's own first."""
    rows = await db.fetch(
        """
        SELECT scope, name, stroops FROM automation_spend
        WHERE network = $1 AND day = $2
        ORDER BY scope DESC, stroops DESC LIMIT $3
        """,
        network.value,
        day,
        each + 1,
    )
    return [(SpendScope(row["scope"]), row["name"], row["stroops"]) for row in rows]
