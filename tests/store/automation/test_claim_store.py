"""Claims of due runs by several schedulers, their leases, and the counters of owners."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from farebox.automation.runs import claim_store, run_store
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_state import RunState
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.automation import activate, draft_plan, read_owner, read_runs
from support.manual_clock import START

LEASE = timedelta(seconds=60)


async def claim(
    database: Database, count: int = 10, *, holder: str = "one", now: datetime = START, **more: Any
) -> Sequence[Run]:
    network = more.pop("network", Network.TESTNET)
    async with database.connection() as db:
        return await claim_store.claim_due(
            db, network, count=count, holder=holder, now=now, until=now + LEASE, **more
        )


async def end(database: Database, run: Run) -> None:
    after = replace(run, state=RunState.SKIPPED, due_at=None)
    async with database.connection() as db:
        assert await run_store.save_run(db, run, after)


async def test_claim_takes_due_runs_in_their_order_and_no_others(database: Database) -> None:
    late = await activate(database, draft_plan(now=START + timedelta(seconds=5)))
    first = await activate(database, draft_plan(now=START - timedelta(seconds=5)))
    second = await activate(database, draft_plan(now=START))
    claimed = await claim(database)
    assert [run.proposal_id for run in sorted(claimed, key=lambda run: run.scheduled_for)] == [
        first.terms.id,
        second.terms.id,
    ]
    assert all(run.state is RunState.CLAIMED and run.lease_epoch == 1 for run in claimed)
    assert [row["state"] for row in await read_runs(database, late)] == ["scheduled"] * 2
    assert await claim(database) == []


async def test_claim_leaves_the_run_after_an_open_one(database: Database) -> None:
    plan = await activate(database)
    (run,) = await claim(database, now=START + timedelta(minutes=5))
    assert run.run_index == 0
    assert await claim(database, now=START + timedelta(minutes=5)) == []
    assert [row["due_at"] is None for row in await read_runs(database, plan)] == [False, True]


async def test_claim_takes_one_run_of_an_account_and_two_of_an_owner(database: Database) -> None:
    account = draft_plan()
    for _ in range(3):
        await activate(
            database, draft_plan(owner=account.terms.owner, account=account.terms.account)
        )
    operator = OwnerId("operator_1")
    for _ in range(5):
        await activate(database, draft_plan(owner=operator).but(account=None))
    claimed = await claim(database, 20)
    assert [run.owner for run in claimed].count(operator) == 2
    assert [run.owner for run in claimed].count(account.terms.owner) == 1
    assert await read_owner(database, operator) == (2, 0)
    assert await read_owner(database, account.terms.owner) == (1, 1)
    assert await claim(database, 20) == []
    for run in claimed:
        await end(database, run)
    assert await read_owner(database, operator) == (0, 0)
    assert len(await claim(database, 20)) == 3


async def test_claims_of_two_schedulers_share_the_runs(
    database: Database, other_pool: Database
) -> None:
    operator = OwnerId("operator_1")
    plans = [await activate(database) for _ in range(30)]
    for _ in range(8):
        await activate(database, draft_plan(owner=operator).but(account=None))
    found: list[Run] = []

    async def work(pool: Database, holder: str) -> None:
        empty = 0
        while empty < 3:
            claimed = await claim(pool, 3, holder=holder)
            found.extend(claimed)
            empty = 0 if claimed else empty + 1

    await asyncio.gather(
        *(work(pool, f"{pool.name}{n}") for pool in (database, other_pool) for n in range(3))
    )
    ids = [run.id for run in found]
    assert len(set(ids)) == len(ids), "a run was claimed twice"
    assert len([run for run in found if run.owner == operator]) == 2
    assert len(ids) == len(plans) + 2


async def test_claim_of_one_network_leaves_the_other(database: Database) -> None:
    await activate(database, draft_plan().but(network=Network.PUBNET))
    assert await claim(database) == []
    (run,) = await claim(database, network=Network.PUBNET)
    assert run.network is Network.PUBNET


async def test_claim_of_overdue_runs_takes_those_past_their_deadline(database: Database) -> None:
    await activate(database, draft_plan(now=START))
    before = START - timedelta(seconds=31)
    missed = await activate(database, draft_plan(now=before), now=before)
    (run,) = await claim(database, only_overdue=True)
    assert run.proposal_id == missed.terms.id


async def test_save_is_refused_to_an_earlier_holder_of_the_lease(database: Database) -> None:
    await activate(database)
    (old,) = await claim(database)
    later = START + LEASE + timedelta(seconds=1)
    async with database.connection() as db:
        assert await claim_store.release_lost(db, Network.TESTNET, now=START, limit=10) == 0
        assert await claim_store.release_lost(db, Network.TESTNET, now=later, limit=10) == 1
        assert not await run_store.save_run(db, old, replace(old, state=RunState.CHECKING))
    (new,) = await claim(database, holder="two", now=START + timedelta(seconds=20))
    assert (new.id, new.lease_epoch) == (old.id, 2)
    async with database.connection() as db:
        assert not await run_store.save_run(db, old, replace(old, state=RunState.CHECKING))
        assert await run_store.save_run(db, new, replace(new, state=RunState.CHECKING))


async def test_heartbeat_extends_the_leases_of_its_holder_alone(database: Database) -> None:
    await activate(database)
    await activate(database)
    (one,) = await claim(database, 1, holder="one")
    (two,) = await claim(database, 1, holder="two")
    later = START + LEASE + timedelta(seconds=1)
    async with database.connection() as db:
        held = await claim_store.extend_leases(
            db, [one.id, two.id], holder="one", until=later + LEASE
        )
        assert held == {one.id}
        assert await claim_store.release_lost(db, Network.TESTNET, now=later, limit=10) == 1
    assert await read_owner(database, two.owner) == (0, 0)
    assert await read_owner(database, one.owner) == (1, 1)


async def test_heartbeat_lets_the_lease_of_an_interrupted_run_pass(database: Database) -> None:
    await activate(database)
    await activate(database)
    in_progress, interrupted = await claim(database, holder="one")
    later = START + LEASE + timedelta(seconds=1)
    async with database.connection() as db:
        held = await claim_store.extend_leases(
            db, [in_progress.id], holder="one", until=later + LEASE
        )
        assert held == {in_progress.id}
        assert await claim_store.release_lost(db, Network.TESTNET, now=later, limit=10) == 1
    (again,) = await claim(database, holder="two", now=later)
    assert again.id == interrupted.id


async def test_unresolved_run_is_taken_over_and_never_released(database: Database) -> None:
    await activate(database)
    (run,) = await claim(database)
    for state in (RunState.CHECKING, RunState.BUILDING, RunState.SUBMITTED):
        after = replace(run, state=state)
        async with database.connection() as db:
            assert await run_store.save_run(db, run, after)
        run = after
    later = START + LEASE + timedelta(seconds=1)
    async with database.connection() as db:
        assert await claim_store.release_lost(db, Network.TESTNET, now=later, limit=10) == 0
        (taken,) = await claim_store.claim_unresolved(
            db, Network.TESTNET, count=5, holder="two", now=later, until=later + LEASE
        )
    assert (taken.state, taken.lease_epoch) == (RunState.RECONCILING, 2)
    assert await read_owner(database, run.owner) == (1, 1)
