"""The sponsor's counters in PostgreSQL: always the sums over the rows that hold something.

Whoever writes an envelope down, replaces or ends one holds its network's lock until the commit.
It stands before every other lock, so that these writers wait for each other and never in a circle.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, LiteralString

from farebox.facilitator.budgets.budget import Counter, Scope
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection

_LOCK_CLASS: Final = 0x66627873  # any number no other program of the database takes

# Which counters the rows of `moved` add to, with what they hold and have lost.
_SUMMED: Final[LiteralString] = """
        SELECT moved.network, moved.budget_on AS day, each.scope, each.name,
               sum(each.stroops)::bigint AS stroops
        FROM moved CROSS JOIN LATERAL (VALUES
            ('total', '', moved.held),
            ('payer', moved.payer, moved.held),
            ('pay_to', moved.pay_to, moved.held),
            ('key', moved.caller, moved.held),
            (CASE WHEN moved.asset_is_named THEN 'asset' ELSE 'other_assets' END,
             CASE WHEN moved.asset_is_named THEN moved.asset ELSE '' END, moved.held),
            ('payer_loss', moved.payer, moved.lost)) AS each (scope, name, stroops)
        WHERE moved.budget_on IS NOT NULL AND each.name IS NOT NULL
        GROUP BY moved.network, moved.budget_on, each.scope, each.name
"""
# Moves the counters by what `moved` says that its rows hold and have lost more, or less.
COUNTED: Final[LiteralString] = (
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
        WHERE changes.stroops < 0
          AND (spent.network, spent.day, spent.scope, spent.name)
            = (changes.network, changes.day, changes.scope, changes.name))
"""
)


@dataclass(frozen=True, slots=True)
class Drift:
    """A counter that is not the sum over its rows; there must never be one."""

    network: str
    day: date
    scope: str
    name: str
    counted: int
    summed: int


async def lock_networks(db: Connection, networks: Iterable[Network]) -> None:
    """Nobody else moves the counters of these networks before this transaction ends."""
    await db.execute(
        """
        SELECT pg_advisory_xact_lock($1, hashtext(name))
        FROM unnest($2::text[]) WITH ORDINALITY AS network (name, place) ORDER BY place
        """,
        _LOCK_CLASS,
        sorted({network.value for network in networks}),
    )


async def lock_networks_of(db: Connection, hashes: Sequence[bytes]) -> None:
    """As `lock_networks`, for the networks of the rows with these hashes."""
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
    """What the counters stand at; one at nothing may be left out."""
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
        Counter(Network(row["network"]), row["day"], Scope(row["scope"]), row["name"]): row[
            "stroops"
        ]
        for row in rows
    }


async def counters_from(
    db: Connection, network: Network, day: date, least: Mapping[Scope, int]
) -> dict[Counter, int]:
    """The counters of a day that stand at or over what is named for their scope."""
    rows = await db.fetch(
        """
        SELECT spent.scope, spent.name, spent.stroops
        FROM sponsor_spend spent
        JOIN unnest($3::text[], $4::bigint[]) AS wanted (scope, least) USING (scope)
        WHERE spent.network = $1 AND spent.day = $2 AND spent.stroops >= wanted.least
        """,
        network.value,
        day,
        [scope.value for scope in least],
        list(least.values()),
    )
    return {Counter(network, day, Scope(row["scope"]), row["name"]): row["stroops"] for row in rows}


async def largest_counters(
    db: Connection, network: Network, day: date, *, each: int
) -> list[tuple[Counter, int]]:
    """What a day stands at: of every scope the `each` largest counters, largest first."""
    rows = await db.fetch(
        """
        SELECT scope, name, stroops
        FROM (SELECT scope, name, stroops,
                     row_number() OVER (PARTITION BY scope ORDER BY stroops DESC, name) AS place
              FROM sponsor_spend WHERE network = $1 AND day = $2 AND stroops > 0) AS placed
        WHERE place <= $3 ORDER BY scope, place
        """,
        network.value,
        day,
        each,
    )
    return [
        (Counter(network, day, Scope(row["scope"]), row["name"]), row["stroops"]) for row in rows
    ]


async def stop_network(db: Connection, network: Network, *, at: datetime) -> bool:
    """Nothing is sent on the network any more; False when it was stopped before.

    Call it under the network's lock: what is written down before it may still be sent.
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
    """The network is paid for again; False when it was not stopped."""
    started = await db.fetchval(
        "DELETE FROM sponsor_stops WHERE network = $1 RETURNING true", network.value
    )
    return started is True


async def stopped_since(db: Connection, network: Network) -> datetime | None:
    """When the network was stopped; None while it is not."""
    found: datetime | None = await db.fetchval(
        "SELECT stopped_at FROM sponsor_stops WHERE network = $1", network.value
    )
    return found


async def find_drift(db: Connection) -> list[Drift]:
    """Every counter that differs from the sum over its rows, by one look; none is right."""
    rows = await db.fetch(
        """
        WITH moved AS (
            SELECT network, budget_on, payer, pay_to, caller, asset, asset_is_named,
                   fee_held AS held, fee_lost AS lost
            FROM settlements),
        summed AS (
        """
        + _SUMMED
        + """)
        SELECT network, day, scope, name,
               coalesce(counted.stroops, 0) AS counted, coalesce(summed.stroops, 0) AS summed
        FROM sponsor_spend counted FULL JOIN summed USING (network, day, scope, name)
        WHERE coalesce(counted.stroops, 0) <> coalesce(summed.stroops, 0)
        ORDER BY network, day, scope, name
        """
    )
    return [Drift(**dict(row)) for row in rows]
