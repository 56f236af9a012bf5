"""Installations of plans that end while they are under way: each is followed to its end."""

from typing import Any

from farebox.app.automation_network import AutomationNetwork
from farebox.automation.authority.installation import revoke_mandate
from farebox.automation.lifecycle import upkeep_store
from farebox.automation.lifecycle.installations import Installed, InstallPending
from farebox.automation.plans.proposal_state import ProposalFacts, ProposalTrigger
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.sessions import session_store
from farebox.automation.sessions.session_store import SessionState
from farebox.kernel.addresses import Address
from farebox.submission.fate import Dead, Indeterminate, SentEnvelope
from support.automation import lock
from support.automation_world import NET, soon
from support.installing import feeding, signed
from support.run_payments import balance
from support.session_desk import SessionDesk, by_key
from testing.smart_accounts import Owner


async def end(
    desk: SessionDesk, plan: StoredPlan, trigger: ProposalTrigger = ProposalTrigger.CANCEL
) -> None:
    """End a paid plan by a trigger."""
    async with desk.world.database.transaction() as db:
        locked = await lock(db, plan.terms.id)
        await move_plan(db, locked, trigger, ProposalFacts(is_overdue=True), now=soon())


class EndsMeanwhile:
    """A submitter during whose work the plan is cancelled, after its envelope was recorded.

    `is_lost`: its process does not learn the fate. `is_sent`: the network gets the envelope.
    """

    def __init__(
        self,
        desk: SessionDesk,
        plan: StoredPlan,
        submitter: Any,
        *,
        is_lost: bool = False,
        is_sent: bool = True,
    ) -> None:
        self._desk, self._plan, self._submitter = desk, plan, submitter
        self._is_lost, self._is_sent, self._has_ended = is_lost, is_sent, False

    async def submit(self, sent: SentEnvelope, **others: Any) -> Any:
        if self._has_ended:  # it closes
            return await self._submitter.submit(sent, **others)
        self._has_ended = True
        await end(self._desk, self._plan)
        fate = await self._submitter.submit(sent, **others) if self._is_sent else None
        return Indeterminate() if self._is_lost else fate

    async def observe(self, sent: SentEnvelope) -> Any:
        return await self._submitter.observe(sent) if self._is_sent else Dead(as_of_ledger=9)


async def install(
    desk: SessionDesk, plan: StoredPlan, sign: Any, *, ends: bool = True, **kinds: bool
) -> tuple[AutomationNetwork, Installed | InstallPending]:
    """Install a plan's session; `ends`: the plan is cancelled while that is under way."""
    network = desk.world.network(
        contracts=desk.contracts,
        wrap=lambda given: EndsMeanwhile(desk, plan, given, **kinds) if ends else given,
    )
    assert await network.sessions.contracts.check()
    material = await network.sessions.materials.material(plan, soon())
    found = await network.sessions.installations.activate(plan, signed(material, sign))
    return network, found


async def may_shred(desk: SessionDesk, plan: StoredPlan) -> bool:
    """Whether the delegate's key is to be destroyed now."""
    async with desk.world.database.connection() as db:
        over = await upkeep_store.list_to_shred(
            db, NET, after="", now=soon(), ledger=desk.world.ledgers.now().sequence, limit=9
        )
    return plan.terms.id in over


async def state_of(desk: SessionDesk, plan: StoredPlan) -> SessionState | None:
    async with desk.world.database.connection() as db:
        session = await session_store.find_session(db, plan.terms.id)
    return None if session is None else session.state


async def kinds_of(desk: SessionDesk, plan: StoredPlan) -> list[str]:
    async with desk.world.database.connection() as db:
        rows = await db.fetch(
            "SELECT kind FROM automation_events WHERE proposal_id = $1 ORDER BY number",
            plan.terms.id,
        )
    return [row["kind"] for row in rows]


async def let_pass(desk: SessionDesk) -> None:
    """Let what was sent be taken for that of a lost process."""
    async with desk.world.database.connection() as db:
        await db.execute("UPDATE automation_sponsored SET created_at = now() - interval '1 hour'")


async def assert_closed(desk: SessionDesk, plan: StoredPlan, network: AutomationNetwork) -> None:
    """Its key is kept until a pass has closed its session."""
    assert await network.sessions.installations.is_installed(plan)
    assert not await may_shred(desk, plan)
    await network.sessions.closings.run_once()
    assert not await network.sessions.installations.is_installed(plan)
    assert await state_of(desk, plan) is SessionState.CLOSED_BY_SERVICE
    assert (await kinds_of(desk, plan))[-2:] == [
        "session.installed_after_end",
        "session.closed_by_service",
    ]
    assert await may_shred(desk, plan)


async def test_mandate_that_opens_after_its_plan_was_cancelled_is_closed(
    desk: SessionDesk,
) -> None:
    plan = await feeding(desk)
    network, found = await install(desk, plan, by_key(desk.payer))
    assert isinstance(found, Installed)
    await assert_closed(desk, plan, network)


async def test_session_that_is_installed_after_its_plan_was_cancelled_is_closed(
    desk: SessionDesk, smart: Owner
) -> None:
    plan = await feeding(desk, AuthorityMode.SESSION, smart.account)
    network, found = await install(desk, plan, smart.sign_entry)
    assert isinstance(found, Installed)
    await assert_closed(desk, plan, network)


async def test_installation_of_a_lost_process_is_closed_where_its_plan_was_cancelled(
    desk: SessionDesk,
) -> None:
    plan = await feeding(desk)
    network, found = await install(desk, plan, by_key(desk.payer), is_lost=True)
    assert isinstance(found, InstallPending)
    assert await state_of(desk, plan) is None
    assert not await may_shred(desk, plan), "it may land"
    await let_pass(desk)
    await assert_closed(desk, plan, network)


async def test_session_of_a_plan_that_ends_without_having_been_active_is_closed(
    desk: SessionDesk,
) -> None:
    """Its activation was refused after the installation had landed."""
    for trigger in (ProposalTrigger.CANCEL, ProposalTrigger.EXPIRE_INACTIVE):
        plan, control = await feeding(desk), await feeding(desk)
        network, found = await install(desk, plan, by_key(desk.payer), ends=False)
        assert isinstance(found, Installed)
        for each in (plan, control):
            await end(desk, each, trigger)
        if trigger is ProposalTrigger.CANCEL:
            assert not await may_shred(desk, control), "its wallet may send what it has signed"
            await forget_signatures(desk)
        assert await may_shred(desk, control), "nothing was sent for it"
        await assert_closed(desk, plan, network)


async def test_revocation_by_the_owner_hinders_no_closing_and_is_not_repeated(
    desk: SessionDesk,
) -> None:
    """It took back the allowance of one mandate, and has closed another one."""
    allowed, closed = await feeding(desk), await feeding(desk)
    for plan, part, state in (
        (allowed, 1, SessionState.CLOSED_BY_SERVICE), (closed, 0, SessionState.REVOKED),
    ):  # fmt: skip
        network, found = await install(desk, plan, by_key(desk.payer))
        await desk.land_signed(revocation(plan, found)[part], by_key(desk.payer))
        await network.sessions.closings.run_once()
        assert await state_of(desk, plan) is state
    assert await may_shred(desk, closed)
    async with desk.world.database.connection() as db:
        sent = await db.fetch(
            "SELECT purpose FROM automation_sponsored WHERE proposal_id = $1", closed.terms.id
        )
    assert [row["purpose"] for row in sent] == ["install"]


async def forget_signatures(desk: SessionDesk) -> None:
    """Let the time pass in which the wallet may send what it has signed for a cancelled plan."""
    async with desk.world.database.connection() as db:
        await db.execute(
            "UPDATE automation_proposals SET updated_at = updated_at - interval '2 hours'"
        )


def revocation(plan: StoredPlan, found: Installed | InstallPending) -> Any:
    """What the owner may send against an open mandate."""
    raw = plan.terms.session_spec
    assert raw is not None
    assert isinstance(found, Installed)
    return revoke_mandate(read_spec(raw), Address(found.mandate_id or ""))


async def test_setup_of_a_cancelled_plan_whose_installation_died_comes_back(
    desk: SessionDesk,
) -> None:
    database, plan = desk.world.database, await feeding(desk)
    async with database.connection() as db:
        await db.execute(
            "UPDATE automation_proposals SET credit_asset = $1, setup_held = 900,"
            " setup_left = 90000000",
            desk.scene.asset,
        )
    network, found = await install(desk, plan, by_key(desk.payer), is_lost=True, is_sent=False)
    assert isinstance(found, InstallPending)
    assert await balance(database, plan) == 0, "it may land"
    await let_pass(desk)
    for _ in range(2):
        await network.sessions.closings.run_once()
    assert await balance(database, plan) == 900
    assert (await kinds_of(desk, plan))[-2:] == ["credit.returned", "session.install_failed"]
    await forget_signatures(desk)
    assert await may_shred(desk, plan)
    assert not await network.sessions.installations.is_installed(plan)
