"""Installations that the paymaster sends: what hinders it, and how many it sends in a day."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from farebox.app.automation_network import AutomationNetwork
from farebox.automation.lifecycle.installations import Installed, SignedInstallation
from farebox.automation.paymaster import budget_store, sponsored_store
from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.refusal import AutomationRefused, AutomationUnavailable
from farebox.kernel.amounts import Stroops
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import TooManyRequests
from farebox.stellar.fees import FeePolicy
from support.automation_world import LIMITS, NET, soon
from support.installing import feeding, signed
from support.session_desk import SessionDesk, by_key
from support.table_rows import in_row
from testing.waiting import until

TINY = FeePolicy(Stroops(200), Stroops(100))
OBSTACLES = {
    "fee_ceiling": replace(LIMITS, install_fees=TINY),
    "budget_total": replace(LIMITS, budgets=AutomationBudgets(total=Stroops(1_000))),
    "budget_owner": replace(LIMITS, budgets=AutomationBudgets(owner=Stroops(1_000))),
    "no_channel": LIMITS,
    "automation_stopped": LIMITS,
}


async def test_installation_that_the_service_cannot_send_is_unavailable_and_may_be_repeated(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    for obstacle, limits in OBSTACLES.items():
        with in_row(obstacle):
            given = await signed_plan(desk, network)
            hindered = desk.world.network(contracts=desk.contracts, limits=limits)
            assert await hindered.sessions.contracts.check()
            async with hindering(desk, obstacle):
                with pytest.raises(AutomationUnavailable, match=f"not sent: {obstacle}") as refused:
                    await hindered.sessions.installations.activate(*given)
            wait_s = refused.value.retry_after_s
            assert wait_s is not None
            is_of_a_day = obstacle.startswith("budget")
            assert wait_s == 5 if not is_of_a_day else 5 <= wait_s <= 86_400
            assert isinstance(await network.sessions.installations.activate(*given), Installed)


async def signed_plan(
    desk: SessionDesk, network: AutomationNetwork
) -> tuple[StoredPlan, SignedInstallation]:
    """A paid plan, and what its owner signed for it."""
    plan = await feeding(desk)
    material = await network.sessions.materials.material(plan, soon())
    return plan, signed(material, by_key(desk.payer))


@contextlib.asynccontextmanager
async def hindering(desk: SessionDesk, obstacle: str) -> AsyncIterator[None]:
    """Let the channels be drained, or the network stopped, where that is the obstacle."""
    async with desk.world.database.transaction() as db:
        if obstacle == "no_channel":
            await db.execute("UPDATE automation_channels SET state = 'draining'")
        elif obstacle == "automation_stopped":
            await budget_store.stop_network(db, NET, at=soon())
    yield
    async with desk.world.database.transaction() as db:
        await db.execute("UPDATE automation_channels SET state = 'active'")
        await budget_store.start_network(db, NET)


async def test_sponsored_call_whose_process_was_lost_gives_its_channel_back(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    plan, given = await signed_plan(desk, network)
    async with desk.world.database.connection() as db:
        await db.execute(
            """
            INSERT INTO automation_sponsored (id, proposal_id, purpose, network, owner, created_at)
            VALUES ('aspo_lost', $1, 'install', $2, $3, now() - interval '1 hour')
            """,
            plan.terms.id,
            NET.value,
            plan.terms.owner,
        )
        await db.execute(
            "UPDATE automation_channels SET sponsored_id = 'aspo_lost' WHERE derivation_index = 0"
        )
    with pytest.raises(AutomationRefused) as refused:
        await network.sessions.installations.activate(plan, given)
    assert refused.value.code is ErrorCode.ILLEGAL_TRANSITION, "the network is healthy"
    assert "is being sent" in refused.value.why
    await network.sessions.closings.run_once()
    assert isinstance(await network.sessions.installations.activate(plan, given), Installed)
    async with desk.world.database.connection() as db:
        held = await db.fetchval(
            "SELECT count(*) FROM automation_channels WHERE sponsored_id IS NOT NULL"
        )
    assert held == 0


async def test_paymaster_sends_so_many_installations_for_a_plan_and_its_owner_in_a_day(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    for of_plan, of_owner in ((3, 0), (0, 10)):
        plan, given = await signed_plan(desk, network)
        other, count = owned_as(plan, await feeding(desk)), of_plan + of_owner
        async with desk.world.database.connection() as db:
            await db.execute("DELETE FROM automation_sponsored")
        await _add_installs(desk, plan if of_plan else other, count)
        with pytest.raises(TooManyRequests) as refused:
            await network.sessions.installations.activate(plan, given)
        assert 5 <= refused.value.retry_after_s <= 86_400
        async with desk.world.database.connection() as db:
            assert await db.fetchval("SELECT count(*) FROM automation_sponsored") == count
            await db.execute("UPDATE automation_sponsored SET outcome = 'dead' WHERE id = 'aspo_0'")
        assert isinstance(await network.sessions.installations.activate(plan, given), Installed)


async def test_installation_waits_for_another_one_of_its_owner_that_is_being_taken(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    plan, database = await feeding(desk), desk.world.database
    other = owned_as(plan, await feeding(desk))
    material = await network.sessions.materials.material(plan, soon())
    given = signed(material, by_key(desk.payer))

    async def is_waiting() -> bool:
        async with database.connection() as db:
            waiting = await db.fetchval(
                "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
                " WHERE d.datname = current_database() AND locktype = 'advisory' AND NOT granted"
            )
        return bool(waiting)

    async with database.transaction() as db:
        await sponsored_store.lock_installs(db, plan.terms.owner)
        asked = asyncio.create_task(network.sessions.installations.activate(plan, given))
        await until(is_waiting)
        await _add_installs(desk, other, 10)
    with pytest.raises(TooManyRequests):
        await asked


def owned_as(plan: StoredPlan, other: StoredPlan) -> StoredPlan:
    """The other plan, as one of the same owner."""
    return replace(other, terms=replace(other.terms, owner=plan.terms.owner))


async def _add_installs(desk: SessionDesk, plan: StoredPlan, count: int) -> None:
    """Installations of a plan that have landed today."""
    async with desk.world.database.connection() as db:
        await db.executemany(
            """
            INSERT INTO automation_sponsored
                (id, proposal_id, purpose, network, owner, outcome, finished_at)
            VALUES ($1, $2, 'install', $3, $4, 'success', now())
            """,
            [
                (f"aspo_{number}", plan.terms.id, NET.value, plan.terms.owner)
                for number in range(count)
            ],
        )
