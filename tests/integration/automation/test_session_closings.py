"""Sessions of plans that are over, closed by the service."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from farebox.app.automation_network import AutomationNetwork
from farebox.automation.lifecycle.installations import Installed
from farebox.automation.paymaster import sponsored_store
from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.automation.paymaster.sponsored_store import SponsoredRow
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.sessions import closings, session_store
from farebox.automation.sessions.session_store import SessionState
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import SystemClock
from support.automation_world import LIMITS, NET, soon
from support.installing import begin, cancel, feeding, signed
from support.session_desk import SessionDesk, by_key


async def test_session_that_cannot_be_closed_delays_no_other(
    desk: SessionDesk, network: AutomationNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closings, "_BATCH", 1)
    sessions = network.sessions
    broken, other = [await to_close(desk, network) for _ in range(2)]  # the older one first
    async with desk.world.database.transaction() as db:
        await db.execute(
            "UPDATE automation_sessions SET mandate_id = $2 WHERE proposal_id = $1",
            broken.terms.id,
            desk.keeper,
        )
    for _ in range(2):
        await sessions.closings.run_once()
    assert not await sessions.installations.is_installed(other)


async def to_close(desk: SessionDesk, network: AutomationNetwork) -> StoredPlan:
    """A cancelled plan whose session is installed."""
    sessions, plan = network.sessions, await feeding(desk)
    material = await sessions.materials.material(plan, soon())
    given = signed(material, by_key(desk.payer))
    assert isinstance(await sessions.installations.activate(plan, given), Installed)
    await begin(desk, plan)
    await cancel(desk, plan)
    return plan


class LaterClock(SystemClock):
    """The system's clock, put forward."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


async def test_closing_that_the_days_losses_refuse_is_tried_ever_more_seldom(
    desk: SessionDesk, network: AutomationNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try takes a channel and writes a row, and the limit holds until the day is over."""
    world, plan, clock = desk.world, await to_close(desk, network), LaterClock()
    limits = replace(LIMITS, budgets=AutomationBudgets(owner=Stroops(10**9)))
    hindered = world.network(contracts=desk.contracts, limits=limits).sessions
    assert await hindered.contracts.check()
    monkeypatch.setattr(hindered.closings, "_clock", clock)
    async with world.database.connection() as db:
        await db.execute("UPDATE automation_proposals SET setup_left = 0")
        await db.execute(
            "INSERT INTO automation_spend (network, day, scope, name, stroops)"
            " VALUES ($1, $2, 'loss', $3, 1000000000)",
            NET.value,
            soon().date(),
            plan.terms.owner,
        )
    for _ in range(3):
        await hindered.closings.run_once()
    assert await closing_outcomes(desk) == ["dead"]
    async with world.database.connection() as db:
        await db.execute("DELETE FROM automation_spend")
    clock.ahead = timedelta(hours=1)
    await hindered.closings.run_once()
    assert await closing_outcomes(desk) == ["dead", "success"], "the control"


async def closing_outcomes(desk: SessionDesk) -> list[str]:
    async with desk.world.database.connection() as db:
        rows = await db.fetch(
            "SELECT outcome FROM automation_sponsored WHERE purpose = 'close' ORDER BY created_at"
        )
    return [row["outcome"] for row in rows]


async def add_sponsored(
    desk: SessionDesk, *rows: tuple[str, StoredPlan, str, str, datetime | None]
) -> None:
    """Record calls of an hour ago: id, plan, purpose, outcome and end of each."""
    async with desk.world.database.connection() as db:
        await db.executemany(
            "INSERT INTO automation_sponsored"
            " (id, proposal_id, purpose, network, owner, outcome, created_at, finished_at)"
            " VALUES ($1, $2, $3, $4, $5, $6, now() - interval '1 hour', $7)",
            [
                (name, of.terms.id, purpose, NET.value, of.terms.owner, outcome, at)
                for name, of, purpose, outcome, at in rows
            ],
        )


async def test_closing_that_landed_late_is_not_sent_again_and_no_broken_row_stops_another(
    desk: SessionDesk, network: AutomationNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, plan = [await to_close(desk, network) for _ in range(2)]
    unsent, lost = await feeding(desk), await feeding(desk)
    end = sponsored_store.end_unsigned

    async def fails(db: Any, row: SponsoredRow) -> bool:
        if row.id == "aspo_0broken":
            raise ValueError("a row that nobody expected")
        return await end(db, row)

    await add_sponsored(
        desk,
        ("aspo_late", late, "close", "success", soon()),
        ("aspo_0broken", unsent, "install", "taken", None),
        ("aspo_1lost", lost, "install", "taken", None),
    )
    monkeypatch.setattr(sponsored_store, "end_unsigned", fails)
    await network.sessions.closings.run_once()
    assert not await network.sessions.installations.is_installed(plan)
    async with desk.world.database.connection() as db:
        sent = await db.fetch(
            "SELECT outcome FROM automation_sponsored WHERE purpose = 'close' AND proposal_id = $1",
            late.terms.id,
        )
        session = await session_store.find_session(db, late.terms.id)
        ended = await db.fetchval(
            "SELECT outcome FROM automation_sponsored WHERE id = 'aspo_1lost'"
        )
    assert [row["outcome"] for row in sent] == ["success"]
    assert session is not None
    assert session.state is SessionState.CLOSED_BY_SERVICE
    assert ended == "dead"
