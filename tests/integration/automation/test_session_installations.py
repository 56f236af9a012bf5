"""Installations by the material that the service issues, read back from the real ledger."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from stellar_sdk import Keypair, TransactionEnvelope, xdr

from e2e.owner_calls import Entry, Sign
from farebox.app.automation_network import AutomationNetwork
from farebox.automation.authority.installation import revoke_mandate
from farebox.automation.lifecycle.installations import (
    Installed,
    InstallPending,
    InstallTransaction,
    OpenedMandate,
    SignedInstallation,
)
from farebox.automation.paymaster import budget_store, sponsored_store
from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.automation.plan_body import PlanSessionBody
from farebox.automation.plans.proposal_state import ProposalFacts, ProposalState, ProposalTrigger
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.plans.wire import PlanKind
from farebox.automation.refusal import AutomationRefused, AutomationUnavailable, NetworkUnavailable
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.sessions import closings, session_store
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.automation.sessions.contracts_watch import AutomationContracts
from farebox.automation.sessions.session_store import SessionState
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import TooManyRequests
from farebox.stellar.fees import FeePolicy
from support.automation import PlanDraft, put_plan
from support.automation_world import LIMITS, NET, AutomationWorld, has_consumed, soon
from support.session_desk import DeskAccount, SessionDesk, by_key
from support.smart_accounts import GENERATIONS
from support.waiting import until

MANDATE, SESSION = AuthorityMode.MANDATE, AuthorityMode.SESSION


@pytest.fixture
async def desk(world: AutomationWorld) -> SessionDesk:
    return await SessionDesk.deploy(world)


@pytest.fixture
async def account(desk: SessionDesk, request: pytest.FixtureRequest) -> DeskAccount:
    """A smart account of generation C, or of the one that the test names."""
    return await desk.smart_account(getattr(request, "param", "c"))


@pytest.fixture
async def network(desk: SessionDesk) -> AutomationNetwork:
    """The automation of a process that knows the contracts."""
    built = desk.world.network(contracts=desk.contracts)
    assert await built.sessions.contracts.check()
    return built


async def paid(desk: SessionDesk, draft: PlanDraft) -> StoredPlan:
    """A plan that waits for its session."""
    async with desk.world.database.transaction() as db:
        plan = await put_plan(db, draft, now=soon())
        free = ProposalFacts(price_is_zero=True)
        return await move_plan(
            db, plan, ProposalTrigger.WAIVE_PAYMENT, free, now=soon(), credited=draft.runs
        )


async def feeding(
    desk: SessionDesk, mode: AuthorityMode = MANDATE, account: str | None = None
) -> StoredPlan:
    return await paid(desk, desk.draft(PlanKind.CONTRACT_CALL, desk.feed(), mode, account=account))


async def cancel(desk: SessionDesk, plan: StoredPlan) -> None:
    """Cancel a plan that is active."""
    async with desk.world.database.transaction() as db:
        await move_plan(
            db,
            replace(plan, state=ProposalState.ACTIVE),
            ProposalTrigger.CANCEL,
            ProposalFacts(),
            now=soon(),
        )


async def begin(desk: SessionDesk, plan: StoredPlan) -> None:
    """Activate a plan whose session was read back."""
    async with desk.world.database.transaction() as db:
        facts = ProposalFacts(runs_left=1)
        await move_plan(db, plan, ProposalTrigger.ACTIVATE, facts, now=soon())
        await db.execute("UPDATE automation_sessions SET state = 'installed'")


def signed(material: PlanSessionBody, sign: Sign) -> SignedInstallation:
    """The material's entry, as a wallet signs it."""
    assert material.install is not None
    (issued,) = material.install.entries
    entry = sign(Entry.from_xdr(issued.entry_xdr), issued.expiration_ledger)
    return SignedInstallation((entry.to_xdr(),))


@pytest.mark.parametrize("account", GENERATIONS, indirect=True)
async def test_signed_session_is_installed_by_the_paymaster_and_runs(
    desk: SessionDesk, account: DeskAccount, network: AutomationNetwork
) -> None:
    world, sessions = desk.world, network.sessions
    plan = await feeding(desk, SESSION, account.address)
    material = await sessions.materials.material(plan, soon())
    assert material.account_generation == f"oz_{account.generation}"
    assert material.revoke is None
    given = signed(material, account.by_owner)
    installed = await sessions.installations.activate(plan, given)
    assert isinstance(installed, Installed)
    assert len(installed.rule_ids) == 2
    assert installed.valid_until_ledger == material.limits.valid_until_ledger
    assert isinstance(await sessions.installations.activate(plan, given), Installed), "again"
    await begin(desk, plan)
    async with world.running(network):
        await until(lambda: has_consumed(world, plan, 1), 60)
    assert await world.count(desk.keeper) == 1


async def test_signed_mandate_is_opened_by_the_paymaster_and_closed_by_the_delegate(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    world, sessions = desk.world, network.sessions
    plan = await feeding(desk)
    material = await sessions.materials.material(plan, soon())
    installed = await sessions.installations.activate(plan, signed(material, by_key(desk.payer)))
    assert isinstance(installed, Installed)
    assert installed.mandate_id == material.contracts[-1].id
    await begin(desk, plan)
    assert await sessions.installations.is_installed(plan)
    await cancel(desk, plan)
    await sessions.closings.run_once()
    async with world.database.connection() as db:
        session = await session_store.find_session(db, plan.terms.id)
    assert session is not None
    assert session.state is SessionState.CLOSED_BY_SERVICE
    assert not await sessions.installations.is_installed(plan)
    revoking = await sessions.materials.material(
        replace(plan, state=ProposalState.CANCELLED), soon()
    )
    assert revoking.revoke is not None
    assert [each.function for each in revoking.revoke.invocations] == ["close", "approve"]


async def test_session_that_cannot_be_closed_delays_no_other(
    desk: SessionDesk, network: AutomationNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closings, "_BATCH", 1)
    sessions, plans = network.sessions, [await feeding(desk), await feeding(desk)]
    for plan in plans:
        material = await sessions.materials.material(plan, soon())
        given = signed(material, by_key(desk.payer))
        assert isinstance(await sessions.installations.activate(plan, given), Installed)
        await begin(desk, plan)
        await cancel(desk, plan)
    broken, other = plans  # the older one first
    async with desk.world.database.transaction() as db:
        await db.execute(
            "UPDATE automation_sessions SET mandate_id = $2 WHERE proposal_id = $1",
            broken.terms.id,
            desk.keeper,
        )
    for _ in plans:
        await sessions.closings.run_once()
    assert not await sessions.installations.is_installed(other)


async def test_wallet_that_signs_whole_transactions_sends_them_itself(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    sessions = network.sessions
    plan = await feeding(desk)
    material = await sessions.materials.material(plan, soon())
    assert material.install is not None
    whole = material.install.unsigned_transaction_xdr
    assert whole is not None
    envelope = TransactionEnvelope.from_xdr(whole, NET.passphrase)
    envelope.sign(desk.payer)
    request = InstallTransaction(envelope.hash())
    pending = await sessions.installations.activate(plan, request)
    assert isinstance(pending, InstallPending), "not sent yet"
    await asyncio.to_thread(desk.world.ledger._deliver, envelope)
    installed = await sessions.installations.activate(plan, request)
    assert isinstance(installed, Installed)
    assert installed.installer_tx == envelope.hash()
    named = OpenedMandate(installed.mandate_id or "")
    assert isinstance(await sessions.installations.activate(plan, named), Installed)


async def refusal(network: AutomationNetwork, plan: StoredPlan, request: Any) -> str:
    with pytest.raises(AutomationRefused) as refused:
        await network.sessions.installations.activate(plan, request)
    assert refused.value.code is ErrorCode.SESSION_MISMATCH
    return refused.value.why


async def test_only_the_issued_tree_signed_by_the_account_is_sent(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    plan, other = await feeding(desk), await feeding(desk)
    sessions = network.sessions
    material = await sessions.materials.material(plan, soon())
    foreign = signed(await sessions.materials.material(other, soon()), by_key(desk.payer))
    assert "other calls" in await refusal(network, plan, foreign)
    genuine = signed(material, by_key(desk.payer))
    assert "One entry" in await refusal(network, plan, SignedInstallation(genuine.entries * 2))
    assert "no Soroban" in await refusal(network, plan, SignedInstallation(("AAAA",)))

    def widened(entry: Entry, expiry: int) -> Entry:
        approval: Any = entry.root_invocation.sub_invocations[0].function.contract_fn
        approval.args[2].i128.lo = xdr.Uint64(approval.args[2].i128.lo.uint64 + 1)
        return by_key(desk.payer)(entry, expiry)

    assert "other calls" in await refusal(network, plan, signed(material, widened))
    late = signed(material, lambda entry, expiry: by_key(desk.payer)(entry, expiry + 1_000))
    assert "expires too late" in await refusal(network, plan, late)

    def forged(entry: Entry, expiry: int) -> Entry:
        stranger = Keypair.random()
        made = by_key(desk.payer)(entry, expiry)
        raw = bytearray(made.to_xdr_bytes())
        own = desk.payer.raw_public_key()
        at = bytes(raw).index(own, bytes(raw).index(own) + 1)
        raw[at : at + 32] = stranger.raw_public_key()
        return Entry.from_xdr_bytes(bytes(raw))

    assert "does not verify" in await refusal(network, plan, signed(material, forged))
    async with desk.world.database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM automation_sponsored") == 0
    assert isinstance(await sessions.installations.activate(plan, genuine), Installed)


TINY = FeePolicy(Stroops(200), Stroops(100))
OBSTACLES = {
    "fee_ceiling": replace(LIMITS, install_fees=TINY),
    "budget_total": replace(LIMITS, budgets=AutomationBudgets(total=Stroops(1_000))),
    "budget_owner": replace(LIMITS, budgets=AutomationBudgets(owner=Stroops(1_000))),
    "no_channel": LIMITS,
    "automation_stopped": LIMITS,
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
async def test_installation_that_the_service_cannot_send_is_unavailable_and_may_be_repeated(
    desk: SessionDesk, network: AutomationNetwork, obstacle: str
) -> None:
    world, plan = desk.world, await feeding(desk)
    material = await network.sessions.materials.material(plan, soon())
    given = signed(material, by_key(desk.payer))
    hindered = world.network(contracts=desk.contracts, limits=OBSTACLES[obstacle])
    assert await hindered.sessions.contracts.check()
    async with world.database.transaction() as db:
        if obstacle == "no_channel":
            await db.execute("UPDATE automation_channels SET state = 'draining'")
        elif obstacle == "automation_stopped":
            await budget_store.stop_network(db, NET, at=soon())
    with pytest.raises(AutomationUnavailable, match=f"not sent: {obstacle}") as refused:
        await hindered.sessions.installations.activate(plan, given)
    wait_s = refused.value.retry_after_s
    assert wait_s is not None
    assert wait_s == 5 if not obstacle.startswith("budget") else 5 <= wait_s <= 86_400
    async with world.database.transaction() as db:
        await db.execute("UPDATE automation_channels SET state = 'active'")
        await budget_store.start_network(db, NET)
    assert isinstance(await network.sessions.installations.activate(plan, given), Installed)


async def test_allowance_below_the_plan_is_not_the_plans(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    plan = await feeding(desk)
    material = await network.sessions.materials.material(plan, soon())
    installed = await network.sessions.installations.activate(
        plan, signed(material, by_key(desk.payer))
    )
    assert isinstance(installed, Installed)
    raw = plan.terms.session_spec
    assert raw is not None
    mandate = Address(installed.mandate_id or "")
    _, approval = revoke_mandate(read_spec(raw), mandate)
    await desk.land_signed(approval, by_key(desk.payer))
    assert not await network.sessions.installations.is_installed(plan)
    why = await refusal(network, plan, OpenedMandate(mandate))
    assert "allowance" in why


async def test_mandate_that_is_not_open_is_refused(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    plan = await feeding(desk)
    material = await network.sessions.materials.material(plan, soon())
    named = OpenedMandate(material.contracts[-1].id)
    assert "Nothing of the plan" in await refusal(network, plan, named)
    assert "another address" in await refusal(network, plan, OpenedMandate(desk.keeper))


async def test_account_of_an_unknown_kind_gets_no_session(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    plan = await feeding(desk, SESSION, desk.pair)
    with pytest.raises(AutomationRefused) as refused:
        await network.sessions.materials.material(plan, soon())
    assert refused.value.code is ErrorCode.UNSUPPORTED_ACCOUNT


async def test_mode_is_unavailable_where_a_contract_has_other_code(desk: SessionDesk) -> None:
    right = desk.contracts.contracts
    wrong = {**right, ServiceContract.GUARD: right[ServiceContract.VERIFIER]}
    network = desk.world.network(contracts=AutomationContracts(wrong, desk.contracts.routers))
    watch = network.sessions.contracts
    assert await watch.check()
    assert watch.warnings == ("automation_contract_differs",)
    assert SESSION not in watch.modes
    assert MANDATE in watch.modes
    honest = desk.world.network(contracts=desk.contracts).sessions.contracts
    assert await honest.check()
    assert (honest.warnings, SESSION in honest.modes) == ((), True)


async def test_sponsored_call_whose_process_was_lost_gives_its_channel_back(
    desk: SessionDesk, network: AutomationNetwork
) -> None:
    plan = await feeding(desk)
    material = await network.sessions.materials.material(plan, soon())
    given = signed(material, by_key(desk.payer))
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
    with pytest.raises(NetworkUnavailable):  # another one is under way
        await network.sessions.installations.activate(plan, given)
    await network.sessions.closings.run_once()
    assert isinstance(await network.sessions.installations.activate(plan, given), Installed)
    async with desk.world.database.connection() as db:
        held = await db.fetchval(
            "SELECT count(*) FROM automation_channels WHERE sponsored_id IS NOT NULL"
        )
    assert held == 0


@pytest.mark.parametrize(("of_plan", "of_owner"), [(3, 0), (0, 10)])
async def test_paymaster_sends_so_many_installations_for_a_plan_and_its_owner_in_a_day(
    desk: SessionDesk, network: AutomationNetwork, of_plan: int, of_owner: int
) -> None:
    plan = await feeding(desk)
    other = owned_as(plan, await feeding(desk))
    material = await network.sessions.materials.material(plan, soon())
    given = signed(material, by_key(desk.payer))
    for paid_for, count in ((plan, of_plan), (other, of_owner)):
        await _add_installs(desk, paid_for, count)
    with pytest.raises(TooManyRequests) as refused:
        await network.sessions.installations.activate(plan, given)
    assert 5 <= refused.value.retry_after_s <= 86_400
    async with desk.world.database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM automation_sponsored") == of_plan + of_owner
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
