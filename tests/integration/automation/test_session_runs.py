"""Plans with a session on smart accounts of both generations, on the real host."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from farebox.automation.authority.installation import close_session, remove_session
from farebox.automation.execution.build_run import BuiltRun, RunNotBuilt
from farebox.automation.execution.used_authorizations import UsedAuthorizations
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import PlanKind
from farebox.automation.runs.attempt import CounterReading
from farebox.automation.sessions import session_store
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.automation.sessions.mandate_authority import MandateIndexReader
from farebox.automation.sessions.session_authority import GuardUseReader
from farebox.stellar.auth_entries import read_entry
from farebox.stellar.rpc import LedgerEntries
from support.automation import read_plan, read_runs
from support.automation_world import AutomationWorld, attempt_of, has_consumed, until_state
from support.session_desk import SOLD, SessionDesk
from support.session_runs import build_next, land_as_stranger, next_run, try_next
from support.smart_accounts import GENERATIONS
from support.table_rows import in_row
from testing.smart_accounts import Owner
from testing.waiting import until

MODE = AuthorityMode.SESSION


async def fed(desk: SessionDesk, smart: Owner, *, runs: int = 3, due: int = 1) -> StoredPlan:
    """An active plan that feeds the keeper from the account."""
    draft = desk.draft(
        PlanKind.CONTRACT_CALL, desk.feed(), MODE, account=smart.account, runs=runs, due=due
    )
    return await desk.with_session(draft, smart)


@pytest.mark.parametrize("smart", GENERATIONS, indirect=True)
async def test_runs_of_every_kind_are_made_from_the_account(
    desk: SessionDesk, smart: Owner
) -> None:
    """Two processes make two calls of the keeper, two purchases, and one run of two payments."""
    world, scene = desk.world, desk.scene
    calls = await fed(desk, smart, runs=2, due=2)
    purchases, payments = [
        await desk.with_session(
            desk.draft(kind, body, MODE, account=smart.account, runs=runs, due=runs), smart
        )
        for kind, body, runs in (
            (PlanKind.DCA, desk.dca(), 2),
            (PlanKind.DISBURSEMENT, desk.disbursement(), 1),
        )
    ]
    async with world.running(world.network(), world.network()):
        for plan in (calls, purchases, payments):
            with in_row(plan.terms.kind):
                await until(partial(has_consumed, world, plan, plan.terms.run_limit), 60)
    assert await world.count(desk.keeper) == 2
    assert await desk.balance(scene.asset, desk.keeper) == 2 * SOLD
    assert await desk.balance(scene.native, smart.account) > 2 * SOLD * 98 // 100, "it has bought"
    paid = [await desk.balance(scene.asset, each.address) for each in scene.payees[:2]]
    assert paid == [100, 101]
    assert await desk.balance(scene.asset, smart.account) == 6 * SOLD - sum(paid)
    rows = [row for row in await read_runs(world.database, calls) if row["run_index"] < 2]
    assert len({row["auth_nonce"] for row in rows} - {None}) == 2
    assert await counts_before(world, calls) == [0, 1], "the guard's count before each"
    after = await read_plan(world.database, payments)
    assert (after.counters.auths_used, after.state) == (2, ProposalState.COMPLETED)


async def counts_before(world: AutomationWorld, plan: StoredPlan) -> list[int]:
    """The uses before them that the attempts of a plan's runs have recorded."""
    async with world.database.connection() as db:
        rows = await db.fetch(
            """
            SELECT a.uses_before
            FROM automation_attempts a JOIN automation_runs r ON r.id = a.run_id
            WHERE r.proposal_id = $1 AND a.outcome = 'success' ORDER BY 1
            """,
            plan.terms.id,
        )
    return [row["uses_before"] for row in rows]


async def test_run_that_a_stranger_lands_counts_as_the_run(desk: SessionDesk, smart: Owner) -> None:
    world = desk.world
    plan = await fed(desk, smart)
    await land_as_stranger(world, await build_next(world, plan))
    async with world.running(world.network()):
        row = await until_state(world, plan, "succeeded")
    assert (row["executed_by"], row["tx_hash"]) == ("third_party", None)
    assert await world.count(desk.keeper) == 1


async def test_use_is_found_by_the_guards_count_once_the_nonce_has_expired(
    desk: SessionDesk, smart: Owner
) -> None:
    world = desk.world
    plan = await fed(desk, smart)
    built = await build_next(world, plan)
    prepared = built.prepared
    assert prepared.uses_before == 0
    run = replace(await next_run(world, plan), auth_nonce=prepared.nonce)
    used = UsedAuthorizations(
        Expired(world),
        MandateIndexReader(world.database, world.rpc),
        GuardUseReader(world.database, world.rpc),
    )
    end = await world.ledger.latest() - 1
    attempt = attempt_of(run.id, authorized_until=end, uses_before=0)
    unused = await used.read(run, plan.terms, attempt)
    assert unused is not None
    assert isinstance(unused.counter, CounterReading)
    assert (unused.was_used, unused.counter.now) == (False, 0)
    await land_as_stranger(world, built)
    found = await used.read(run, plan.terms, attempt)
    assert found is not None
    assert found.was_used
    without = await used.read(run, plan.terms)
    assert without is not None
    assert not without.was_used, "the nonce alone shows nothing any more"


class Expired:
    """A ledger on which every nonce has expired: networks keep one for a day, or longer."""

    def __init__(self, world: AutomationWorld) -> None:
        self._world = world

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        return LedgerEntries((), await self._world.ledger.latest())


async def test_every_attempt_of_a_run_signs_the_same_nonce(desk: SessionDesk, smart: Owner) -> None:
    """Also in another process and in a later ledger; another run has another nonce."""
    world = desk.world
    plan = await fed(desk, smart, due=2)
    first = await build_next(world, plan)
    await world.ledger.wait_past(await world.ledger.latest() + 2)
    again = await build_next(world, plan)
    entries = [read_entry(each.prepared.call.entries[0].raw) for each in (first, again)]
    assert entries[0].nonce == entries[1].nonce == first.prepared.nonce
    assert entries[0].expires_at_ledger < entries[1].expires_at_ledger
    async with world.running(world.network()):
        await until(lambda: has_consumed(world, plan, 1), 60)

    async def build_following() -> BuiltRun | None:
        built = await try_next(world, plan)
        return built if isinstance(built, BuiltRun) else None

    following = await until(build_following, 20)  # the interval has to pass
    assert following.prepared.nonce != first.prepared.nonce


async def test_plan_is_stopped_whose_session_its_owner_closed_removed_or_changed(
    desk: SessionDesk, smart: Owner
) -> None:
    world, database = desk.world, desk.world.database
    closed, removed, changed = [await fed(desk, smart) for _ in range(3)]
    raws = [plan.terms.session_spec for plan in (closed, removed)]
    closing, removing = [read_spec(raw) for raw in raws if raw is not None]
    await build_next(world, closed)
    guard, installer = desk.at(ServiceContract.GUARD), desk.at(ServiceContract.INSTALLER)
    await desk.land_signed(close_session(closing, closed.terms.policy_id, guard), smart.sign_entry)
    async with database.connection() as db:
        session = await session_store.find_session(db, removed.terms.id)
    assert session is not None
    await desk.land_signed(remove_session(removing, installer, session.rule_ids), smart.sign_entry)
    refused = await try_next(world, removed)
    assert isinstance(refused, RunNotBuilt)
    assert refused.code == "session_closed"
    async with database.connection() as db:
        await db.execute(
            "UPDATE automation_sessions SET rule_ids = '{7,8}' WHERE proposal_id = $1",
            changed.terms.id,
        )
    async with world.running(world.network()):
        of_closed = await until_state(world, closed, "failed")
        of_changed = await until_state(world, changed, "failed")
    assert (of_closed["error_class"], of_closed["error_code"]) == ("session", "session_closed")
    assert of_changed["error_code"] == "session_differs"
    ends = [await read_plan(database, plan) for plan in (closed, changed)]
    assert [(each.state, each.reason) for each in ends] == [
        (ProposalState.FAILED, "session_closed"),
        (ProposalState.PAUSED, "session_drift"),
    ]
