"""The paymaster's budgets and kill switch in PostgreSQL: apart from those of settlement."""

from collections.abc import Mapping, Sequence
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
    LOSS = "loss"  # fees of an owner that no run pays for, those under way included
    NEW_OWNERS = "new_owners"  # the same of all owners whose runs have hardly succeeded


_LOSS_SHARE: Final = 10  # of its budget an owner may lose so much
_NEW_SHARE: Final = 20  # of the total budget all new owners together
_SETTLED_RUNS: Final = 10  # by which an owner is new no longer


@dataclass(frozen=True, slots=True)
class AutomationBudgets:
    """The most that runs may cost the paymaster in a UTC day, in stroops; 0 = no limit."""

    total: Stroops = NO_STROOPS
    owner: Stroops = NO_STROOPS

    def limit(self, scope: SpendScope) -> Stroops:
        """The limit of each counter of this scope."""
        match scope:
            case SpendScope.TOTAL:
                return self.total
            case SpendScope.OWNER:
                return self.owner
            case SpendScope.LOSS:
                return Stroops(-(-self.owner // _LOSS_SHARE))
            case SpendScope.NEW_OWNERS:
                return Stroops(-(-self.total // _NEW_SHARE))


@dataclass(frozen=True, slots=True)
class RunCharge:
    """The most that one envelope may cost, and whose budgets of which day it uses.

    `is_new_owner` is None where it is paid for and can be no loss.
    """

    network: Network
    owner: OwnerId
    day: date
    stroops: Stroops
    is_new_owner: bool | None = None

    def counters(self) -> tuple[tuple[SpendScope, str], ...]:
        """The counters that it is added to, in the order in which exhausted ones are reported."""
        spend = ((SpendScope.OWNER, self.owner), (SpendScope.TOTAL, ""))
        if self.is_new_owner is None:
            return spend
        loss = (SpendScope.LOSS, str(self.owner))
        return (*spend, loss, (SpendScope.NEW_OWNERS, "")) if self.is_new_owner else (*spend, loss)


_SPEND: Final = (SpendScope.TOTAL, SpendScope.OWNER)
UNLIMITED: Final = AutomationBudgets()


def judge_spend(
    charge: RunCharge, budgets: AutomationBudgets, counted: Mapping[tuple[SpendScope, str], int]
) -> SpendScope | None:
    """The scope that one more envelope does not fit in; None where it fits in all.

    Losses never pass their limit, but for one envelope that is dearer than it alone.
    """
    for counter in charge.counters():
        scope, _ = counter
        limit, spent = budgets.limit(scope), counted.get(counter, 0)
        is_first = scope not in _SPEND and spent == 0
        if limit and spent + charge.stroops > limit and not is_first:
            return scope
    return None


async def is_new_owner(db: Connection, owner: OwnerId, network: Network) -> bool:
    """Whether hardly any run of an owner has succeeded on a network."""
    succeeded: int = await db.fetchval(
        """
        SELECT coalesce(sum(runs_succeeded), 0) FROM automation_proposals
        WHERE owner = $1 AND network = $2
        """,
        owner,
        network.value,
    )
    return succeeded < _SETTLED_RUNS


async def reserve(
    db: Connection, charge: RunCharge, budgets: AutomationBudgets
) -> SpendScope | None:
    """Reserve a charge from every budget it uses; the scope that is used up, where one is."""
    await _lock_counters(db, charge.network)
    refused = await find_used_up(db, charge, budgets)
    if refused is not None:
        return refused
    scopes, names = _split(charge.counters())
    await db.execute(
        """
        INSERT INTO automation_spend AS s (network, day, scope, name, stroops)
        SELECT $1, $2, scope, name, $5 FROM unnest($3::text[], $4::text[]) AS item (scope, name)
        ON CONFLICT (network, day, scope, name) DO UPDATE
        SET stroops = s.stroops + excluded.stroops
        """,
        charge.network.value,
        charge.day,
        scopes,
        names,
        charge.stroops,
    )
    return None


async def find_used_up(
    db: Connection, charge: RunCharge, budgets: AutomationBudgets
) -> SpendScope | None:
    """The scope that a charge does not fit in as of now; None where it fits in all."""
    scopes, names = _split(charge.counters())
    rows = await db.fetch(
        """
        SELECT scope, name, stroops FROM automation_spend
        WHERE network = $1 AND day = $2
          AND (scope, name) IN (SELECT * FROM unnest($3::text[], $4::text[]))
        """,
        charge.network.value,
        charge.day,
        scopes,
        names,
    )
    counted = {(SpendScope(row["scope"]), row["name"]): row["stroops"] for row in rows}
    return judge_spend(charge, budgets, counted)


async def has_room(db: Connection, charge: RunCharge, budgets: AutomationBudgets) -> bool:
    """Whether a charge fits now; nothing is given back until the transaction ends."""
    await _lock_counters(db, charge.network)
    return await find_used_up(db, charge, budgets) is None


async def give_back(db: Connection, charge: RunCharge, *, cost: int, loss: int) -> None:
    """Give back what an envelope did not cost of its reservation; `loss` of it nobody paid for."""
    await _lock_counters(db, charge.network)
    scopes, names = _split(charge.counters())
    await db.execute(
        """
        UPDATE automation_spend s
        SET stroops = s.stroops - $5
            + CASE WHEN s.scope IN ('total', 'owner') THEN $6::bigint ELSE $7::bigint END
        FROM unnest($3::text[], $4::text[]) AS item (scope, name)
        WHERE s.network = $1 AND s.day = $2 AND (s.scope, s.name) = (item.scope, item.name)
        """,
        charge.network.value,
        charge.day,
        scopes,
        names,
        charge.stroops,
        cost,
        loss,
    )


async def _lock_counters(db: Connection, network: Network) -> None:
    """Lock all counters of a network until the transaction ends: there is no order among them."""
    await db.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended($1, 40))", f"spend {network.value}"
    )


def _split(counters: Sequence[tuple[SpendScope, str]]) -> tuple[list[str], list[str]]:
    return [scope.value for scope, _ in counters], [name for _, name in counters]


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
        WHERE network = $1 AND day = $2 AND scope IN ('total', 'owner')
        ORDER BY scope DESC, stroops DESC LIMIT $3
        """,
        network.value,
        day,
        each + 1,
    )
    return [(SpendScope(row["scope"]), row["name"], row["stroops"]) for row in rows]
