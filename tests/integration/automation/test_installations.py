"""Activation by an installation: pending, read back, refused; the plan's runs follow only then."""

from dataclasses import replace
from typing import Any, cast

import pytest

from farebox.automation.authority.stored_calls import encode_calls
from farebox.automation.execution.run_authority import OpenAuthority
from farebox.automation.lifecycle.activate import Activation
from farebox.automation.lifecycle.change_plan import PlanChanges
from farebox.automation.lifecycle.installations import (
    Installed,
    InstallPending,
    InstallRequest,
    InstallTransaction,
    OpenedMandate,
)
from farebox.automation.lifecycle.lifecycle_network import LifecycleNetwork
from farebox.automation.lifecycle.pending_installations import PendingInstallations
from farebox.automation.plans.proposal_state import ProposalFacts, ProposalState, ProposalTrigger
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.proposing.availability import Availability
from farebox.automation.proposing.preflight import Preflight
from farebox.automation.refusal import AutomationRefused, NetworkUnavailable
from farebox.automation.runs.move_plan import move_plan
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller, CallerKind
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from support.automation import draft_plan, open_calls, put_plan, read_plan, read_runs
from support.automation_world import NET, SEALERS, AutomationWorld, soon

HASH = b"h" * 32
REQUEST = InstallTransaction(HASH)


class Answers:
    """A mode that installs, with the answers of a test in their order."""

    def __init__(self, *answers: Installed | InstallPending | Refusal) -> None:
        self._answers = list(answers)
        self.asked: list[InstallRequest] = []
        self.is_there = True

    async def activate(
        self, plan: StoredPlan, request: InstallRequest
    ) -> Installed | InstallPending:
        self.asked.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Refusal):
            raise answer
        return answer

    async def is_installed(self, plan: StoredPlan) -> bool:
        return self.is_there


async def paid_plan(world: AutomationWorld) -> StoredPlan:
    now = soon()
    calls = encode_calls(open_calls(Address(await world.keeper())))
    draft = draft_plan(now=now).but(calls=calls, mode=AuthorityMode.MANDATE)
    async with world.database.transaction() as db:
        plan = await put_plan(db, draft, now=now)
        free = ProposalFacts(price_is_zero=True)
        return await move_plan(db, plan, ProposalTrigger.WAIVE_PAYMENT, free, now=now, credited=3)


def activation_of(world: AutomationWorld, answers: Answers) -> tuple[Activation, PlanChanges]:
    """Activation and changes on the devnet, with this mode that installs."""
    built, unused = world.network(), cast(Preflight, None)
    authority = OpenAuthority(built.paymaster.executor)
    network = LifecycleNetwork(
        network=NET,
        availability=Availability(outages=lambda: (), is_funded=lambda: True),
        preflight=unused,
        builder=built.steps.builder.with_authority(AuthorityMode.MANDATE, authority),
        check=built.steps.check,
        ledger=world.rpc,
        ledgers=world.ledgers,
        nonce_key=built.paymaster.nonce_key,
    )
    by_mode = {AuthorityMode.MANDATE: answers}
    networks = {NET: network}
    activation = Activation(world.database, world.clock, networks, SEALERS.entries, by_mode)
    return activation, PlanChanges(world.database, world.clock, networks, by_mode)


def caller_of(plan: StoredPlan) -> Caller:
    return Caller(plan.terms.owner, CallerKind.SESSION)


def installed(plan: StoredPlan, **changes: Any) -> Installed:
    end = plan.terms.window.not_after
    return replace(Installed(7, valid_until=end, mandate_id="C"), **changes)


async def kinds(world: AutomationWorld, plan: StoredPlan) -> list[str]:
    async with world.database.connection() as db:
        rows = await db.fetch(
            "SELECT kind FROM automation_events WHERE proposal_id = $1 ORDER BY number",
            plan.terms.id,
        )
    return [row["kind"] for row in rows]


async def test_pending_installation_is_finished_by_the_loop(world: AutomationWorld) -> None:
    plan = await paid_plan(world)
    pending = InstallPending(HASH)
    answers = Answers(pending, pending, installed(plan))
    activation, _ = activation_of(world, answers)
    loop = PendingInstallations(NET, world.database, activation)
    found = await activation.activate(caller_of(plan), "request", plan.terms.id, OpenedMandate("C"))
    assert found.is_pending
    for _ in range(2):
        assert (await read_plan(world.database, plan)).state is ProposalState.PAID
        assert await read_runs(world.database, plan) == []
        await loop.run_once()
    assert (await read_plan(world.database, plan)).state is ProposalState.ACTIVE
    assert len(await read_runs(world.database, plan)) == 2
    assert answers.asked == [OpenedMandate("C"), REQUEST, REQUEST]
    await loop.run_once()
    assert len(answers.asked) == 3, "nothing waits any more"


async def test_pending_installation_of_something_else_is_given_up(world: AutomationWorld) -> None:
    plan = await paid_plan(world)
    other = AutomationRefused(ErrorCode.SESSION_MISMATCH, "another spec")
    activation, _ = activation_of(world, Answers(InstallPending(HASH), NetworkUnavailable(), other))
    loop = PendingInstallations(NET, world.database, activation)
    await activation.activate(caller_of(plan), "request", plan.terms.id, REQUEST)
    await loop.run_once()
    assert "session.install_failed" not in await kinds(world, plan), "it waits for the network"
    await loop.run_once()
    assert (await kinds(world, plan))[-1] == "session.install_failed"
    assert (await read_plan(world.database, plan)).state is ProposalState.PAID


async def test_installation_of_a_plan_that_was_cancelled_meanwhile_is_not_given_up(
    world: AutomationWorld,
) -> None:
    """It may have landed: what was sent is looked for until it is known."""
    plan = await paid_plan(world)

    class CancelsMeanwhile(Answers):
        async def activate(
            self, plan: StoredPlan, request: InstallRequest
        ) -> Installed | InstallPending:
            if self.asked:
                await changes.cancel(caller_of(plan), "request", plan.terms.id, None)
            return await super().activate(plan, request)

    activation, changes = activation_of(
        world, CancelsMeanwhile(InstallPending(HASH), installed(plan))
    )
    await activation.activate(caller_of(plan), "request", plan.terms.id, REQUEST)
    await PendingInstallations(NET, world.database, activation).run_once()
    assert "session.install_failed" not in await kinds(world, plan)
    async with world.database.connection() as db:
        waits_for = await db.fetchval("SELECT installer_tx FROM automation_sessions")
    assert waits_for == HASH


async def test_session_that_ends_before_the_first_run_is_refused(world: AutomationWorld) -> None:
    """By the time of its end, or by its last ledger."""
    plan = await paid_plan(world)
    early = (
        installed(plan, valid_until=soon(-10)),
        installed(plan, valid_until_ledger=world.ledgers.now().sequence + 3),
    )
    activation, _ = activation_of(world, Answers(*early, installed(plan)))
    for _ in early:
        with pytest.raises(AutomationRefused) as refused:
            await activation.activate(caller_of(plan), "request", plan.terms.id, REQUEST)
        assert refused.value.code is ErrorCode.SESSION_EXPIRES_TOO_SOON
    await activation.activate(caller_of(plan), "request", plan.terms.id, REQUEST)
    assert (await read_plan(world.database, plan)).state is ProposalState.ACTIVE, "the control"


async def test_plan_whose_session_is_gone_is_not_resumed(world: AutomationWorld) -> None:
    plan = await paid_plan(world)
    end = world.ledgers.now().sequence + 100_000
    answers = Answers(installed(plan, valid_until_ledger=end))
    activation, changes = activation_of(world, answers)
    caller, proposal_id = caller_of(plan), plan.terms.id
    await activation.activate(caller, "request", proposal_id, REQUEST)
    await changes.pause(caller, "request", proposal_id, None)
    answers.is_there = False
    with pytest.raises(AutomationRefused) as refused:
        await changes.resume(caller, "request", proposal_id, None)
    assert refused.value.code is ErrorCode.SESSION_MISMATCH
    answers.is_there = True
    async with world.database.connection() as db:
        await db.execute("UPDATE automation_sessions SET valid_until_ledger = 1")
    with pytest.raises(AutomationRefused) as refused:
        await changes.resume(caller, "request", proposal_id, None)
    assert refused.value.code is ErrorCode.SESSION_EXPIRES_TOO_SOON
    async with world.database.connection() as db:
        await db.execute("UPDATE automation_sessions SET valid_until_ledger = $1", end)
    resumed = await changes.resume(caller, "request", proposal_id, None)
    assert resumed.plan.state is ProposalState.ACTIVE
