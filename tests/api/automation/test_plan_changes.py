"""Pause, resume and cancel over HTTP: what each state takes, and what a run under way does."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.schedules.schedule import IntervalSchedule
from farebox.kernel.networks import Network
from support.callers import Wallet, create_key, send_request
from support.node_proxy import silence
from support.plan_service import AUTOMATIONS, PlanService
from support.presigned_plans import Leg
from support.stage import key_of
from support.table_rows import in_row
from testing.waiting import until


async def code(plans: PlanService, owner: Wallet, plan: StoredPlan, verb: str) -> str:
    """The outcome of a change: the plan's status, or the code of the refusal."""
    body = await plans.post(owner, plan, verb)
    if "error" in body:
        assert body["http"] == 409, body
        return str(body["error"]["code"])
    return str(body["proposal"]["status"])


async def in_state(plans: PlanService, owner: Wallet, state: str) -> StoredPlan:
    """A plan that is in this state."""
    keeper = await plans.some_keeper()
    plan = await plans.open_plan(owner, keeper, runs=0 if state == "proposed" else 3)
    if state in ("active", "paused"):
        assert await code(plans, owner, plan, "activate") in ("active", "executing")
    if state == "paused":
        assert await code(plans, owner, plan, "pause") == "paused"
        await until(lambda: _is_idle(plans, plan), 30)
    if state == "cancelled":
        assert await code(plans, owner, plan, "cancel") == "cancelled"
    return plan


@pytest.mark.parametrize(
    ("state", "pause", "resume", "cancel"),
    [
        ("proposed", "illegal_transition", "illegal_transition", "cancelled"),
        ("paid", "illegal_transition", "illegal_transition", "cancelled"),
        ("paused", "illegal_transition", "active", "cancelled"),
        ("cancelled", "illegal_transition", "illegal_transition", "illegal_transition"),
    ],
)
async def test_plan_takes_the_changes_of_its_state(
    plans: PlanService, state: str, pause: str, resume: str, cancel: str
) -> None:
    owner = await plans.wallet()
    plan = await in_state(plans, owner, state)
    assert await code(plans, owner, plan, "pause") == pause
    assert await code(plans, owner, plan, "resume") == resume
    await until(lambda: _is_idle(plans, plan), 30)
    assert await code(plans, owner, plan, "cancel") == cancel


async def _is_idle(plans: PlanService, plan: StoredPlan) -> bool:
    rows = await plans.stage.query(
        "SELECT 1 FROM automation_runs WHERE proposal_id = $1 AND state IN"
        " ('claimed', 'checking', 'building', 'submitted', 'reconciling')",
        plan.terms.id,
    )
    return not rows


async def test_changes_are_in_the_audit_log_and_their_reasons_among_the_events(
    plans: PlanService,
) -> None:
    owner = await plans.wallet()
    plan = await in_state(plans, owner, "active")
    assert (await plans.post(owner, plan, "pause", {"reason": "a holiday"}))["http"] == 200
    await until(lambda: _is_idle(plans, plan), 30)
    assert await code(plans, owner, plan, "resume") == "active"
    assert (await plans.post(owner, plan, "cancel"))["http"] == 200
    rows = await plans.stage.query(
        "SELECT action FROM audit_trail WHERE subject = $1 ORDER BY done_at", plan.terms.id
    )
    assert [row["action"] for row in rows] == [
        "automation.activated",
        "automation.paused",
        "automation.resumed",
        "automation.cancelled",
    ]
    events = (await plans.get(owner, plan, "events?limit=100"))["items"]
    assert [e["data"] for e in events if e["kind"] == "plan.note"] == [{"note": "a holiday"}]
    for reason in ("x" * 301, 7, "a\u0000b"):
        body = await plans.post(owner, plan, "pause", {"reason": reason})
        assert (body["http"], body["error"]["code"]) == (400, "invalid_request")


async def test_cancel_waits_for_the_run_that_is_under_way(plans: PlanService) -> None:
    owner, keeper = await plans.wallet(), await plans.keeper()
    plan = await plans.open_plan(owner, keeper)
    hold = asyncio.Event()
    try:
        plans.stage.node().on("sendTransaction", silence(hold))
        assert await code(plans, owner, plan, "activate") in ("active", "executing")
        await until(lambda: _is_in(plans, plan, "submitted", "reconciling"), 30)
        body = await plans.post(owner, plan, "cancel")
        assert (body["http"], body["proposal"]["isCancelling"]) == (200, True), body
        assert body["proposal"]["status"] in ("active", "executing")
        assert await code(plans, owner, plan, "pause") == "illegal_transition"
    finally:
        hold.set()
        plans.stage.node().reset()

    async def is_cancelled() -> bool:
        return (await plans.state(plan)).state.value == "cancelled"

    await until(is_cancelled, 90)
    counters = (await plans.state(plan)).counters
    assert counters.runs_credited == counters.runs_consumed == await plans.count(keeper)


async def _is_in(plans: PlanService, plan: StoredPlan, *states: str) -> bool:
    rows = await plans.stage.query(
        "SELECT state FROM automation_runs WHERE proposal_id = $1", plan.terms.id
    )
    return any(row["state"] in states for row in rows)


async def test_cancelled_plan_gives_back_what_it_holds(plans: PlanService) -> None:
    owner = await plans.wallet()
    plan = await in_state(plans, owner, "paid")
    await plans.stage.query(
        "UPDATE automation_proposals SET credit_asset = 'C', credit_held = 3000 WHERE id = $1",
        plan.terms.id,
    )
    assert await code(plans, owner, plan, "cancel") == "cancelled"
    assert await _returned(plans, owner) == [3_000]
    free = await in_state(plans, owner, "paid")
    assert await code(plans, owner, free, "cancel") == "cancelled"
    assert await _returned(plans, owner) == [3_000], "what cost nothing is no credit"


async def _returned(plans: PlanService, owner: Wallet) -> list[int]:
    rows = await plans.stage.query(
        "SELECT amount FROM run_credits WHERE owner = $1 AND kind = 'return'", owner.owner
    )
    return [int(row["amount"]) for row in rows]


async def test_resume_needs_the_cause_to_be_gone(plans: PlanService) -> None:
    owner = await plans.wallet()
    plan = await in_state(plans, owner, "active")
    broken = (await plans.open_plan(owner, await plans.faulty_keeper(4))).terms.calls
    for reason in ("failed_runs", "target_upgraded", "low_balance"):
        with in_row(reason):
            assert await code(plans, owner, plan, "pause") == "paused"
            await until(lambda: _is_idle(plans, plan), 30)
            await _set(plans, plan, status_reason=reason, calls=broken)
            assert await code(plans, owner, plan, "resume") == "preflight_failed"
            await _set(plans, plan, calls=plan.terms.calls, target_wasm_hash=bytes(32))
            assert await code(plans, owner, plan, "resume") == "preflight_failed"
            await _set(plans, plan, target_wasm_hash=None)
            assert await code(plans, owner, plan, "resume") == "active"


async def _set(plans: PlanService, plan: StoredPlan, **columns: Any) -> None:
    for name, value in columns.items():
        await plans.stage.query(
            f"UPDATE automation_proposals SET {name} = $2 WHERE id = $1", plan.terms.id, value
        )


async def test_plan_that_the_operator_paused_is_released_by_the_operator_alone(
    plans: PlanService,
) -> None:
    owner, other = await plans.wallet(), await plans.wallet()
    plan, spared = await in_state(plans, owner, "active"), await in_state(plans, other, "active")
    paused = await plans.farebox("automation", "pause", "--owner", owner.owner)
    assert (paused.code, paused.out) == (0, "1 plans are paused\n")
    assert (await plans.state(spared)).state.value == "active"
    assert await code(plans, owner, plan, "resume") == "illegal_transition"
    listed = (await plans.farebox("automation", "list", "--owner", owner.owner)).out
    assert plan.terms.id in listed
    assert "paused (operator)" in listed
    released = await plans.farebox("automation", "resume", "--owner", owner.owner)
    assert released.out == "1 plans may be resumed by their owners\n"
    await until(lambda: _is_idle(plans, plan), 30)
    assert await code(plans, owner, plan, "resume") == "active"
    for words in (("pause",), ("resume",), ("close", "--yes")):
        ran = await plans.farebox("automation", *words)
        assert (ran.code, "--network" in ran.err) == (2, True), "never every plan by mistake"


async def test_compromised_plans_are_closed_with_their_entries(plans: PlanService) -> None:
    scene = await plans.stage.networks[Network.TESTNET].devnet.scene(payers=1, payees=1)
    owner = await plans.wallet(scene.payers[0].address)
    legs = [Leg(scene.payees[0].address)]
    plan = await plans.presigned_plan(owner, scene, scene.payers[0], legs)
    body = {"presignedEntriesXdr": await plans.sign_all(owner, plan, key_of(scene.payers[0]))}
    assert (await plans.post(owner, plan, "activate", body))["http"] == 200
    unsure = await plans.farebox("automation", "close", "--owner", owner.owner)
    assert (unsure.code, (await plans.state(plan)).is_cancelling) == (2, False)
    closed = await plans.farebox("automation", "close", "--owner", owner.owner, "--yes")
    assert closed.code == 0, closed.err
    assert plan.terms.id in closed.out
    assert scene.payers[0].address in closed.out

    async def is_over() -> bool:
        found = await plans.state(plan)
        return found.state.value == "cancelled" and found.delegate_key is None

    await until(is_over, 60)
    rows = await plans.stage.query(
        "SELECT entry FROM automation_presigned WHERE proposal_id = $1", plan.terms.id
    )
    assert [row["entry"] for row in rows] == [None] * 3


async def test_key_needs_the_scope_automation(plans: PlanService) -> None:
    owner = await plans.wallet()
    plan = await in_state(plans, owner, "active")
    path = f"{AUTOMATIONS}/{plan.terms.id}/pause"
    for scopes, status in ((["read"], 403), (["automation"], 200)):
        key = await create_key(plans.client, owner.headers, scopes=scopes)
        headers = {"authorization": f"Bearer {key['key']}"}
        answer = await send_request(plans.client, "POST", path, headers, {})
        assert answer.status == status, answer.body


async def test_operator_ends_the_search_for_one_outcome(plans: PlanService) -> None:
    """A run as an outage of the node leaves it: its envelope may have landed."""
    owner = await plans.wallet()
    in_an_hour = IntervalSchedule(60, datetime.now(UTC) + timedelta(hours=1))
    plan = await plans.open_plan(owner, await plans.some_keeper(), schedule=in_an_hour)
    assert await code(plans, owner, plan, "activate") == "active"
    await plans.stage.query(
        "UPDATE automation_runs SET state = 'reconciling', due_at = NULL"
        " WHERE proposal_id = $1 AND run_index = 0",
        plan.terms.id,
    )
    (row,) = await plans.stage.query(
        "INSERT INTO automation_attempts (run_id, number, network, tx_hash, inner_hash, envelope,"
        " source, source_sequence, max_time, fee_limit, simulated_ledger, sent_after_ledger,"
        " budget_on, owner) SELECT id, 1, network, $2, $2, $2, 'G', 1, now() - interval '1 h', 100,"
        " 1, 1, current_date, owner FROM automation_runs WHERE proposal_id = $1 AND run_index = 0"
        " RETURNING run_id",
        plan.terms.id,
        bytes(range(32)),
    )
    run_id, tx_hash = row["run_id"], bytes(range(32)).hex()
    listed = await plans.farebox("automation", "unresolved", "--network", "testnet")
    assert (listed.code, run_id in listed.out, tx_hash in listed.out) == (0, True, True)
    unsure = await plans.farebox("automation", "end-search", run_id)
    assert unsure.code == 2
    assert f"whether this transaction landed.\n{run_id}" in unsure.err
    assert (await plans.get(owner, plan, "runs/0"))["legs"][0]["state"] == "reconciling"
    ended = await plans.farebox("automation", "end-search", run_id, "--yes")
    assert ended.code == 0, ended.err
    assert tx_hash in ended.out
    assert "not known" in ended.out
    assert (await plans.get(owner, plan, "runs/0"))["legs"][0]["state"] == "abandoned"
    audited = await plans.stage.query(
        "SELECT subject FROM audit_trail WHERE action = 'automation.search_ended'"
    )
    assert [each["subject"] for each in audited] == [run_id]
    again = await plans.farebox("automation", "end-search", "run_of_nobody", "--yes")
    assert (again.code, "no such run" in again.err) == (2, True)
    assert await code(plans, owner, plan, "resume") == "active"
