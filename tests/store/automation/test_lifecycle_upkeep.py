"""The loops that look after plans: ended sessions, shredded keys, outages, warnings, old rows."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from farebox.automation.lifecycle import installed_session_store, upkeep_store
from farebox.automation.lifecycle.ended_sessions import EndedSessions
from farebox.automation.lifecycle.installations import Installed
from farebox.automation.lifecycle.lifecycle_network import LifecycleNetwork
from farebox.automation.lifecycle.plan_warnings import SESSION_ENDS, PlanWarnings
from farebox.automation.lifecycle.unhealthy_network import UnhealthyNetwork
from farebox.automation.plans.proposal_state import ProposalState, ProposalTrigger
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.proposing.availability import Availability
from farebox.automation.runs.event_store import add_event
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerReading
from farebox.storage.pool import Database
from support.automation import activate, draft_plan, move, read_plan, read_runs
from support.manual_clock import START, ManualClock

LEDGER = 1_000


class Ledgers:
    """A ledger clock that stands still."""

    def now(self) -> LedgerReading:
        return LedgerReading(LEDGER, START, 5.0, 0.0)


def network_of(
    outages: Callable[[], tuple[str, ...]] = tuple, network: Network = Network.TESTNET
) -> LifecycleNetwork:
    """A network of which only the clock and the outages are used."""
    unused: Any = None
    return LifecycleNetwork(
        network=network,
        availability=Availability(outages, is_funded=lambda: True),
        preflight=unused,
        builder=unused,
        check=unused,
        ledger=unused,
        ledgers=Ledgers(),
        nonce_key=Secret(bytes(32)),
    )


async def installed(
    database: Database, *, mode: AuthorityMode = AuthorityMode.MANDATE, **end: Any
) -> StoredPlan:
    """An active plan with an installed session."""
    plan = await activate(database, draft_plan().but(mode=mode))
    async with database.connection() as db:
        await installed_session_store.write_installed(db, plan.terms, Installed(1, **end))
    return plan


async def session_state(database: Database, plan: StoredPlan) -> str | None:
    async with database.connection() as db:
        state: str | None = await db.fetchval(
            "SELECT state FROM automation_sessions WHERE proposal_id = $1", plan.terms.id
        )
    return state


async def kinds(database: Database, plan: StoredPlan) -> list[str]:
    async with database.connection() as db:
        rows = await db.fetch(
            "SELECT kind FROM automation_events WHERE proposal_id = $1 ORDER BY number",
            plan.terms.id,
        )
    return [row["kind"] for row in rows]


async def test_plan_whose_session_has_ended_expires(database: Database, clock: ManualClock) -> None:
    tomorrow = START + timedelta(days=1)
    ended = [
        await installed(database, valid_until=START),
        await installed(database, valid_until_ledger=LEDGER - 1),
        await installed(database, valid_until=tomorrow, valid_until_ledger=LEDGER - 1),
    ]
    control = await installed(
        database, valid_until=START + timedelta(seconds=1), valid_until_ledger=LEDGER
    )
    await EndedSessions(network_of(), database, clock).run_once()
    for plan in ended:
        found = await read_plan(database, plan)
        assert (found.state, found.reason) == (ProposalState.EXPIRED, "session_ended")
        assert await session_state(database, plan) == "expired"
        assert found.delegate_key is None, "over and expired: the key is shredded"
    assert (await read_plan(database, control)).state is ProposalState.ACTIVE


async def test_key_of_a_cancelled_plan_that_installed_nothing_is_shredded(
    database: Database, clock: ManualClock
) -> None:
    for mode in (AuthorityMode.OPEN, AuthorityMode.PRESIGNED):
        plan, control = await installed(database, mode=mode), await installed(database, mode=mode)
        await move(database, plan, ProposalTrigger.CANCEL, reason="owner")
        await EndedSessions(network_of(), database, clock).run_once()
        assert (await read_plan(database, plan)).delegate_key is None
        assert (await read_plan(database, control)).delegate_key is not None, "it still runs"
        assert (await kinds(database, plan))[-1] == "plan.shred"


async def test_key_of_a_cancelled_session_is_kept_until_the_session_is_gone(
    database: Database, clock: ManualClock
) -> None:
    plan = await installed(database, valid_until=START + timedelta(days=1))
    await move(database, plan, ProposalTrigger.CANCEL, reason="owner")
    sessions = EndedSessions(network_of(), database, clock)
    await sessions.run_once()
    assert (await read_plan(database, plan)).delegate_key is not None, "it closes the session"
    clock.turn(2 * 86_400)
    await sessions.run_once()
    assert (await read_plan(database, plan)).delegate_key is None
    revoked = await installed(database, valid_until=START + timedelta(days=90))
    await move(database, revoked, ProposalTrigger.CANCEL, reason="owner")
    async with database.connection() as db:
        await db.execute("UPDATE automation_sessions SET state = 'revoked'")
    await sessions.run_once()
    assert (await read_plan(database, revoked)).delegate_key is None


async def test_plans_of_a_network_that_is_out_for_an_hour_are_paused_and_no_others(
    database: Database, clock: ManualClock
) -> None:
    plan = await activate(database)
    other = await activate(database, draft_plan().but(network=Network.PUBNET))
    out = ["ledger_clock_stale"]
    watch = UnhealthyNetwork(network_of(lambda: tuple(out)), database, clock)
    sound = UnhealthyNetwork(network_of(network=Network.PUBNET), database, clock)
    for _ in range(60):
        await watch.run_once()
        await sound.run_once()
        clock.turn(60)
    await watch.run_once()
    assert (await read_plan(database, plan)).state is ProposalState.ACTIVE, "an hour, not more"
    clock.turn(1)
    await watch.run_once()
    found = await read_plan(database, plan)
    assert (found.state, found.reason) == (ProposalState.PAUSED, "network_unhealthy")
    assert (await read_plan(database, other)).state is ProposalState.ACTIVE
    assert [row["state"] for row in await read_runs(database, plan)] == ["skipped"] * 2


async def test_outage_of_one_process_pauses_nothing_while_another_one_works(
    database: Database, clock: ManualClock
) -> None:
    plan = await activate(database)
    broken = UnhealthyNetwork(network_of(lambda: ("rpc_unavailable",)), database, clock)
    sound = UnhealthyNetwork(network_of(), database, clock)
    for _ in range(100):
        await broken.run_once()
        await sound.run_once()
        clock.turn(60)
    assert (await read_plan(database, plan)).state is ProposalState.ACTIVE


async def test_process_that_has_just_started_pauses_nothing_yet(
    database: Database, clock: ManualClock
) -> None:
    plan = await activate(database)
    before = UnhealthyNetwork(network_of(lambda: ("rpc_unavailable",)), database, clock)
    await before.run_once()
    clock.turn(7_200)
    started = UnhealthyNetwork(network_of(lambda: ("starting",)), database, clock)
    await started.run_once()
    assert (await read_plan(database, plan)).state is ProposalState.ACTIVE
    clock.turn(61)
    await started.run_once()
    assert (await read_plan(database, plan)).state is ProposalState.PAUSED


async def test_owner_is_told_once_that_a_session_ends(
    database: Database, clock: ManualClock
) -> None:
    unused: Any = None
    near = await installed(database, valid_until=START + timedelta(days=6))
    far = await installed(database, valid_until=START + timedelta(days=60))
    async with database.connection() as db:
        await db.execute(
            "UPDATE automation_proposals SET not_before = $1", START - timedelta(days=30)
        )
    for _ in range(2):
        warnings = PlanWarnings(network_of(lambda: ("out",)), unused, database, clock)
        await warnings.run_once()
    assert (await kinds(database, near)).count(SESSION_ENDS) == 1
    assert SESSION_ENDS not in await kinds(database, far)


async def test_old_events_and_attempts_of_finished_plans_are_deleted(database: Database) -> None:
    plan, control = await activate(database), await activate(database)
    for each in (plan, control):
        await _grow_old(database, each)
    await move(database, plan, ProposalTrigger.CANCEL, reason="owner")
    kept = timedelta(days=90)
    async with database.connection() as db:
        assert await upkeep_store.delete_attempts(db, kept=kept, limit=100) == 1
        assert await upkeep_store.delete_events(db, kept=kept, limit=2) == 2
        assert await upkeep_store.delete_events(db, kept=kept, limit=100) == 1
        left = await db.fetch("SELECT run_id, outcome FROM automation_attempts ORDER BY outcome")
    assert await kinds(database, plan) == ["plan.cancel"], "what is younger stays"
    assert len(await kinds(database, control)) == 3, "a plan that goes on keeps its own"
    assert [row["outcome"] for row in left] == ["dead", "unknown", "unknown"]


async def _grow_old(database: Database, plan: StoredPlan) -> None:
    """Give a plan an attempt, one with an unknown outcome and an event, all a hundred days old."""
    rows = await read_runs(database, plan)
    old = datetime.now(START.tzinfo) - timedelta(days=100)
    async with database.transaction() as db:
        await add_event(db, plan.terms.id, "test.old")
        await db.execute(
            "UPDATE automation_events SET at = $2 WHERE proposal_id = $1", plan.terms.id, old
        )
        for number, outcome in enumerate(("dead", "unknown"), start=1):
            await db.execute(
                "INSERT INTO automation_attempts (run_id, number, network, tx_hash, inner_hash,"
                " source, source_sequence, max_time, fee_limit, simulated_ledger,"
                " sent_after_ledger, budget_on, owner, outcome, finished_at)"
                " VALUES ($1, $2, 'stellar:testnet', sha256($3), sha256($4), 'G', 1, $5, 1, 1, 1,"
                " '2026-01-01', 'o', $6, $5)",
                rows[0]["id"],
                number,
                f"{plan.terms.id} {number}".encode(),
                f"{number} {plan.terms.id}".encode(),
                old,
                outcome,
            )


async def test_pending_installation_is_listed_until_it_is_final(database: Database) -> None:
    draft = replace(draft_plan().but(mode=AuthorityMode.SESSION), runs=1)
    plan = await activate(database, draft)
    async with database.connection() as db:
        await db.execute("UPDATE automation_proposals SET status = 'paid'")
        await installed_session_store.write_pending(db, plan.terms, b"h" * 32)
        found = await installed_session_store.list_pending(db, Network.TESTNET, limit=5)
        assert found == [(plan.terms.id, b"h" * 32)]
        assert await installed_session_store.list_pending(db, Network.PUBNET, limit=5) == []
        await installed_session_store.write_installed(db, plan.terms, Installed(7))
        assert await installed_session_store.list_pending(db, Network.TESTNET, limit=5) == []
