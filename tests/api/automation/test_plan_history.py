"""Runs, events and receipts over HTTP: pages, long polls, killed clients and repeated runs."""

import asyncio
import time
from functools import partial
from typing import Any

import pytest
from stellar_sdk import Asset

from farebox.automation.lifecycle.event_feed import EventFeed
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import OnLegError
from farebox.automation.runs.event_store import add_event
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from support.asgi import ClientDisconnected
from support.callers import Wallet
from support.plan_service import AUTOMATIONS, PlanService
from support.presigned_plans import AMOUNT, Leg
from support.stage import key_of
from testing.waiting import until

INVALID = (
    "after=-1",
    "after=x",
    "limit=0",
    "limit=101",
    "waitSeconds=26",
    "after=1&after=2",
    "after=\xe9",
)


async def idle_plan(plans: PlanService, owner: Wallet) -> StoredPlan:
    return await plans.open_plan(owner, await plans.some_keeper())


async def tell(plans: PlanService, plan: StoredPlan, kind: str) -> None:
    async with plans.database.transaction() as db:
        await add_event(db, plan.terms.id, kind, {"n": 1})


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The plans of the waits that have begun."""
    noted, wait = list[str](), EventFeed.wait

    async def noting(feed: EventFeed, owner: OwnerId, proposal_id: str, **limits: Any) -> None:
        noted.append(proposal_id)
        await wait(feed, owner, proposal_id, **limits)

    monkeypatch.setattr(EventFeed, "wait", noting)
    return noted


async def test_events_are_read_on_by_their_number(plans: PlanService) -> None:
    owner = await plans.wallet()
    plan = await idle_plan(plans, owner)
    for number in range(4):
        await tell(plans, plan, f"test.{number}")
    first = await plans.get(owner, plan, "events?limit=2")
    assert [e["kind"] for e in first["items"]] == ["plan.waive_payment", "test.0"]
    second = await plans.get(owner, plan, f"events?limit=100&after={first['next']}")
    assert [e["kind"] for e in second["items"]] == ["test.1", "test.2", "test.3"]
    end = await plans.get(owner, plan, f"events?after={second['next']}")
    assert (end["items"], end["next"]) == ([], second["next"])


async def test_events_with_an_invalid_number_are_refused(plans: PlanService) -> None:
    owner = await plans.wallet()
    plan = await idle_plan(plans, owner)
    for query in INVALID:
        path = f"{plan.terms.id}/events?{query}"
        assert (await plans.call(owner, "GET", path)).status == 400, query


async def test_long_poll_ends_with_the_next_event_and_holds_no_connection(
    plans: PlanService, begun: list[str]
) -> None:
    owner = await plans.wallet()
    plan = await idle_plan(plans, owner)
    waits = [
        asyncio.create_task(plans.get(owner, plan, "events?after=1&waitSeconds=25"))
        for _ in range(8)
    ]
    await until(lambda: len(begun) == 8)
    control = await plans.get(owner, plan, "runs")
    assert control["items"] == []
    assert not any(task.done() for task in waits)
    began = time.monotonic()
    await tell(plans, plan, "test.news")
    for task in waits:
        assert [e["kind"] for e in (await task)["items"]] == ["test.news"]
    assert time.monotonic() - began < 5


async def test_long_poll_ends_with_its_time(plans: PlanService) -> None:
    owner = await plans.wallet()
    plan = await idle_plan(plans, owner)
    began = time.monotonic()
    found = await plans.get(owner, plan, "events?after=1&waitSeconds=1")
    assert found["items"] == []
    assert 0.9 < time.monotonic() - began < 10


async def test_owner_with_too_many_waits_is_answered_at_once(
    plans: PlanService, begun: list[str]
) -> None:
    owner, other = await plans.wallet(), await plans.wallet()
    plan, own = await idle_plan(plans, owner), await idle_plan(plans, other)
    path = "events?after=1&waitSeconds=25"
    waits = [asyncio.create_task(plans.get(owner, plan, path)) for _ in range(8)]
    await until(lambda: len(begun) == 8)
    async with asyncio.timeout(5):
        assert (await plans.get(owner, plan, path))["items"] == []
    not_hindered = asyncio.create_task(plans.get(other, own, path))
    await until(lambda: own.terms.id in begun)
    await asyncio.sleep(0.5)
    assert not not_hindered.done()
    await tell(plans, plan, "test.news")
    await tell(plans, own, "test.news")
    await asyncio.gather(*waits, not_hindered)


async def test_killed_client_frees_its_place(plans: PlanService, begun: list[str]) -> None:
    """More waits than an owner may have, each killed before the next."""
    owner = await plans.wallet()
    plan = await idle_plan(plans, owner)
    path = f"{AUTOMATIONS}/{plan.terms.id}/events?after=1&waitSeconds=25"

    def has_begun(count: int) -> bool:
        return len(begun) >= count

    for number in range(12):
        leave = asyncio.Event()
        request = plans.client.request("GET", path, headers=owner.headers, leave=leave)
        asked = asyncio.create_task(request)
        await until(partial(has_begun, number + 1))
        leave.set()
        with pytest.raises(ClientDisconnected):
            async with asyncio.timeout(5):
                await asked
    waiting = asyncio.create_task(
        plans.get(owner, plan, "events?after=1&waitSeconds=25"), name="control"
    )
    await asyncio.sleep(0.5)
    assert not waiting.done(), "a place is free"
    await tell(plans, plan, "test.news")
    assert (await waiting)["items"]


async def test_runs_are_listed_by_page_newest_first(plans: PlanService) -> None:
    owner = await plans.wallet()
    plan = await idle_plan(plans, owner)
    await plans.stage.query(
        "INSERT INTO automation_runs (id, proposal_id, run_index, leg_index, network, owner,"
        " scheduled_for, deadline_at, state, finished_at)"
        " SELECT 'run_' || $1 || n, $1, n / 2, n % 2, 'stellar:testnet', $2, now(), now(),"
        " 'missed', now() FROM generate_series(0, 6) n",
        plan.terms.id,
        owner.owner,
    )
    places, path = [], "runs?limit=3"
    while True:
        page = await plans.get(owner, plan, path)
        places += [(each["runIndex"], each["legIndex"]) for each in page["items"]]
        cursor = page["pagination"]["nextCursor"]
        if cursor is None:
            break
        path = f"runs?limit=3&cursor={cursor}"
    assert places == sorted(places, reverse=True)
    assert len(places) == len(set(places)) == 7
    assert (await plans.call(owner, "GET", f"{plan.terms.id}/runs?cursor=AAAA")).status == 400
    for index in ("9", "-1", "x", "99999999999", "2147483648"):
        assert (await plans.call(owner, "GET", f"{plan.terms.id}/runs/{index}")).status == 404


async def test_failed_run_is_repeated_inside_its_window(plans: PlanService) -> None:
    owner, keeper = await plans.wallet(), await plans.faulty_keeper(4)
    sound = await plans.keeper()
    plan = await plans.open_plan(owner, sound)
    good = plan.terms.calls
    broken = (await plans.open_plan(owner, keeper)).terms.calls
    activated = await plans.post(owner, plan, "activate")
    assert activated["http"] == 200, activated
    await plans.until_consumed(plan, 1)
    not_failed = await plans.post(owner, plan, "runs/0/retry")
    assert (not_failed["http"], not_failed["error"]["code"]) == (409, "illegal_transition")
    await _calls(plans, plan, broken)
    await plans.make_due(plan)
    await until(lambda: _has(plans, plan, 1, "failed"), 30)
    await _calls(plans, plan, good)
    repeated = await plans.post(owner, plan, "runs/1/retry")
    assert (repeated["http"], repeated["state"]) == (200, "scheduled"), repeated
    await until(lambda: _has(plans, plan, 1, "succeeded"), 30)
    assert await plans.count(sound) == 2
    counters = (await plans.state(plan)).counters
    assert (counters.runs_consumed, counters.runs_succeeded) == (2, 2)
    await _fail_late(plans, plan)
    late = await plans.post(owner, plan, "runs/1/retry")
    assert (late["http"], late["error"]["code"]) == (409, "illegal_transition")
    assert (await plans.post(owner, plan, "runs/77/retry"))["http"] == 404


async def _calls(plans: PlanService, plan: StoredPlan, calls: str) -> None:
    await plans.stage.query(
        "UPDATE automation_proposals SET calls = $2 WHERE id = $1", plan.terms.id, calls
    )


async def _fail_late(plans: PlanService, plan: StoredPlan) -> None:
    """Let run 1 have failed, with a window that is over."""
    await plans.stage.query(
        "UPDATE automation_runs SET state = 'failed', deadline_at = now() - interval '1 s'"
        " WHERE proposal_id = $1 AND run_index = 1",
        plan.terms.id,
    )


async def _has(plans: PlanService, plan: StoredPlan, index: int, state: str) -> bool:
    rows = await plans.stage.query(
        "SELECT state FROM automation_runs WHERE proposal_id = $1 AND run_index = $2",
        plan.terms.id,
        index,
    )
    return [row["state"] for row in rows] == [state]


async def test_repeated_leg_makes_a_partial_run_whole_for_one_credit(plans: PlanService) -> None:
    scene = await plans.stage.networks[Network.TESTNET].devnet.scene(payers=1, payees=1)
    owner = await plans.wallet(scene.payers[0].address)
    ledger = plans.stage.ledger()
    stranger = await ledger.account()
    legs = [Leg(scene.payees[0].address), Leg(stranger.public_key)]
    plan = await plans.presigned_plan(
        owner, scene, scene.payers[0], legs, runs=2, on_leg_error=OnLegError.CONTINUE
    )
    body = {"presignedEntriesXdr": await plans.sign_all(owner, plan, key_of(scene.payers[0]))}
    activated = await plans.post(owner, plan, "activate", body)
    assert activated["http"] == 200, activated
    await plans.until_consumed(plan, 1)
    assert (await plans.state(plan)).counters.runs_succeeded == 0
    asset = Asset(scene.code, scene.issuer)
    await ledger.submit(stranger, lambda b: b.append_change_trust_op(asset))
    repeated = await plans.post(owner, plan, "runs/0/retry")
    assert (repeated["http"], repeated["legIndex"]) == (200, 1), repeated

    async def is_whole() -> bool:
        return (await plans.state(plan)).counters.runs_succeeded == 1

    await until(is_whole, 30)
    counters = (await plans.state(plan)).counters
    assert (counters.runs_consumed, counters.auths_used) == (1, 2)
    paid = [await ledger.balance(scene.asset, leg.to) for leg in legs]
    assert paid == [AMOUNT, AMOUNT]
