"""The counters of sponsor budgets in PostgreSQL: always the sums over the rows of settlements.

A transaction that records, replaces or finalizes an envelope holds its network's lock until the
commit. It takes this lock before every other, so that such transactions never deadlock.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, LiteralString

from farebox.facilitator.budgets.budget import BudgetScope, Counter
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

_LOCK_CLASS: Final = 0x66627873  # any number that no other program of the database uses

# The counters that the rows of `moved` add to, with the stroops they hold and have lost.
_SUMMED: Final[LiteralString] = """
        SELECT moved.network, moved.budget_on AS day, each.scope, each.name,
               sum(each.stroops)::bigint AS stroops
        FROM moved CROSS JOIN LATERAL (VALUES
            ('total', '', moved.held),
            ('payer', moved.payer, moved.held),
            ('pay_to', moved.pay_to, moved.held),
            ('key', coalesce(moved.budget_owner, moved.caller), moved.held),
            (CASE WHEN moved.asset_is_named THEN 'asset' ELSE 'other_assets' END,
             CASE WHEN moved.asset_is_named THEN moved.asset ELSE '' END, moved.held),
            ('payer_loss', moved.payer, moved.lost)) AS each (scope, name, stroops)
        WHERE moved.budget_on IS NOT NULL AND each.name IS NOT NULL
        GROUP BY moved.network, moved.budget_on, each.scope, each.name
"""
# Changes the counters by the differences in `moved`.
UPDATE_COUNTERS: Final[LiteralString] = (
    " changes AS ("
    + _SUMMED
    + """
        HAVING sum(each.stroops) <> 0),
    raised AS (
        INSERT INTO sponsor_spend (network, day, scope, name, stroops)
        SELECT network, day, scope, name, stroops FROM changes WHERE stroops > 0
        ON CONFLICT (network, day, scope, name)
        DO UPDATE SET stroops = sponsor_spend.stroops + excluded.stroops),
    lowered AS (
        UPDATE sponsor_spend spent SET stroops = spent.stroops + changes.stroops
        FROM changes
        WHERE changes.stroops < 0 AND spent.stroops + changes.stroops <> 0
          AND (spent.network, spent.day, spent.scope, spent.name)
            = (changes.network, changes.day, changes.scope, changes.name)),
    emptied AS (
        DELETE FROM sponsor_spend spent USING changes
        WHERE changes.stroops < 0 AND spent.stroops + changes.stroops = 0
          AND (spent.network, spent.day, spent.scope, spent.name)
            = (changes.network, changes.day, changes.scope, changes.name))
"""
)


@dataclass(frozen=True, slots=True)
class CounterDrift:
    """A counter that differs from the sum over its rows; there must never be one."""

    network: str
    day: date
    scope: str
    name: str
    counted: int
    summed: int


async def lock_networks(db: Connection, networks: Iterable[Network]) -> None:
    """Lock the counters of these networks until the transaction ends."""
    await db.execute(
        """
        SELECT pg_advisory_xact_lock($1, hashtext(name))
        FROM unnest($2::text[]) WITH ORDINALITY AS network (name, place) ORDER BY place
        """,
        _LOCK_CLASS,
        sorted({network.value for network in networks}),
    )


async def lock_networks_of(db: Connection, hashes: Sequence[bytes]) -> None:
    """Lock the counters of the networks of the rows with these hashes, as `lock_networks` does."""
    await db.execute(
        """
        SELECT pg_advisory_xact_lock($1, hashtext(network))
        FROM (SELECT DISTINCT network FROM settlements WHERE tx_hash = ANY($2::bytea[])
              ORDER BY network) AS own
        """,
        _LOCK_CLASS,
        hashes,
    )


async def read_counters(db: Connection, counters: Collection[Counter]) -> dict[Counter, int]:
    """Read counters, in stroops; one at zero may be left out."""
    rows = await db.fetch(
        """
        SELECT network, day, scope, name, stroops
        FROM sponsor_spend
        JOIN unnest($1::text[], $2::date[], $3::text[], $4::text[])
          AS wanted (network, day, scope, name) USING (network, day, scope, name)
        """,
        [counter.network.value for counter in counters],
        [counter.day for counter in counters],
        [counter.scope.value for counter in counters],
        [counter.name for counter in counters],
    )
    return {
        Counter(Network(row["network"]), row["day"], BudgetScope(row["scope"]), row["name"]): row[
            "stroops"
        ]
        for row in rows
    }


async def read_counters_near(
    db: Connection, network: Network, day: date, floors: Mapping[BudgetScope, int], *, each: int
) -> dict[Counter, int]:
    """Read the counters of a day that have reached their scope's floor (1 stroop at least).

    At most the `each` largest of a scope. The index has levels, of which the lowest includes
    counters just below the floor: those are read and left out.
    """
    rows = await db.fetch(
        """
        SELECT wanted.scope, spent.name, spent.stroops
        FROM unnest($3::text[], $4::bigint[]) AS wanted (scope, least), LATERAL (
            SELECT name, stroops FROM sponsor_spend own
            WHERE own.network = $1 AND own.day = $2 AND own.scope = wanted.scope
              AND own.level >= floor(ln(wanted.least::float8) * 8)::smallint
              AND own.stroops >= wanted.least
            ORDER BY own.level DESC LIMIT $5) AS spent
        """,
        network.value,
        day,
        [scope.value for scope in floors],
        list(floors.values()),
        each,
    )
    return {
        Counter(network, day, BudgetScope(row["scope"]), row["name"]): row["stroops"]
        for row in rows
    }


async def read_largest_counters(
    db: Connection, network: Network, day: date, *, each: int
) -> list[tuple[Counter, int]]:
    """Read the `each` largest counters of every scope on a day, largest first."""
    rows = await db.fetch(
        """
        SELECT wanted.scope, spent.name, spent.stroops
        FROM unnest($3::text[]) AS wanted (scope), LATERAL (
            SELECT name, stroops FROM sponsor_spend own
            WHERE own.network = $1 AND own.day = $2 AND own.scope = wanted.scope
              AND own.level >= 0
            ORDER BY own.level DESC, own.stroops DESC, own.name LIMIT $4) AS spent
        ORDER BY wanted.scope, spent.stroops DESC, spent.name
        """,
        network.value,
        day,
        [scope.value for scope in BudgetScope],
        each,
    )
    return [
        (Counter(network, day, BudgetScope(row["scope"]), row["name"]), row["stroops"])
        for row in rows
    ]


async def stop_network(db: Connection, network: Network, *, at: datetime) -> bool:
    """Switch sponsoring off on a network; False when it was off before.

    Call it under the network's lock: an envelope recorded before may still be sent.
    """
    stopped = await db.fetchval(
        """
        INSERT INTO sponsor_stops (network, stopped_at) VALUES ($1, $2)
        ON CONFLICT (network) DO NOTHING RETURNING true
        """,
        network.value,
        at,
    )
    return stopped is True


async def start_network(db: Connection, network: Network) -> bool:
    """Switch sponsoring on again; False when it was on before."""
    started = await db.fetchval(
        "DELETE FROM sponsor_stops WHERE network = $1 RETURNING true", network.value
    )
    return started is True


async def read_stop_time(db: Connection, network: Network) -> datetime | None:
    """The time at which the network was stopped; None while it is not."""
    stopped_at: datetime | None = await db.fetchval(
        "SELECT stopped_at FROM sponsor_stops WHERE network = $1", network.value
    )
    return stopped_at


async def delete_days(db: Connection, *, before: date, limit: int) -> int:
    """Delete at most `limit` counters of days before `before`; returns their number."""
    rows = await db.fetch(
        """
        DELETE FROM sponsor_spend
        WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM sponsor_spend WHERE day < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING true
        """,
        before,
        limit,
    )
    return len(rows)


async def read_mean_fee(db: Connection, network: Network) -> Stroops | None:
    """The mean fee of the network's payments among the newest thousand; None without any."""
    fee: Stroops | None = await db.fetchval(
        """
        SELECT avg(fee_charged)::bigint
        FROM (SELECT network, fee_charged FROM settlements WHERE state = 'confirmed'
              ORDER BY finished_at DESC LIMIT 1000) AS newest
        WHERE network = $1 AND fee_charged > 0
        """,
        network.value,
    )
    return fee


async def find_drift(db: Connection, *, since: date = date.min) -> list[CounterDrift]:
    """Find the counters since `since` that differ from the sum over their rows."""
    rows = await db.fetch(
        """
        WITH moved AS (
            SELECT network, budget_on, payer, pay_to, caller, budget_owner, asset, asset_is_named,
                   fee_held AS held, fee_lost AS lost
            FROM settlements WHERE budget_on >= $1),
        summed AS (
        """
        + _SUMMED
        + """)
        SELECT network, day, scope, name,
               coalesce(counted.stroops, 0) AS counted, coalesce(summed.stroops, 0) AS summed
        FROM (SELECT * FROM sponsor_spend WHERE day >= $1) AS counted
        FULL JOIN summed USING (network, day, scope, name)
        WHERE coalesce(counted.stroops, 0) <> coalesce(summed.stroops, 0)
        ORDER BY network, day, scope, name
        """,
        since,
    )
    return [CounterDrift(**dict(row)) for row in rows]
