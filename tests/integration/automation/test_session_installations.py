"""Installations by the material that the service issues, read back from the real ledger."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from stellar_sdk import Keypair, TransactionEnvelope, xdr

from farebox.app.automation_network import AutomationNetwork
from farebox.automation.authority.installation import revoke_mandate
from farebox.automation.lifecycle.installations import (
    Installed,
    InstallPending,
    InstallTransaction,
    OpenedMandate,
    SignedInstallation,
)
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.refusal import AutomationRefused
from farebox.automation.sessions import installing, session_store
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.automation.sessions.contracts_watch import AutomationContracts
from farebox.automation.sessions.session_store import SessionState
from farebox.kernel.addresses import Address
from farebox.kernel.error_codes import ErrorCode
from support.automation_world import NET, has_consumed, soon
from support.installing import begin, cancel, feeding, signed
from support.session_desk import SessionDesk, by_key
from support.smart_accounts import GENERATIONS
from testing.owner_calls import Entry
from testing.smart_accounts import Owner
from testing.waiting import until

SESSION = AuthorityMode.SESSION


@pytest.mark.parametrize("smart", GENERATIONS, indirect=True)
async def test_signed_session_is_installed_by_the_paymaster_and_runs(
    desk: SessionDesk, smart: Owner, network: AutomationNetwork
) -> None:
    world, sessions = desk.world, network.sessions
    plan = await feeding(desk, SESSION, smart.account)
    material = await sessions.materials.material(plan, soon())
    assert material.account_generation == f"oz_{smart.generation}"
    assert material.revoke is None
    given = signed(material, smart.sign_entry)
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


async def test_mandate_that_is_not_open_or_allowed_less_is_refused(
    desk: SessionDesk, network: AutomationNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installing, "_VISIBLE_WITHIN_S", 0.5)  # there is one node only
    plan, sessions = await feeding(desk), network.sessions
    material = await sessions.materials.material(plan, soon())
    named = OpenedMandate(material.contracts[-1].id)
    assert "Nothing of the plan" in await refusal(network, plan, named)
    assert "another address" in await refusal(network, plan, OpenedMandate(desk.keeper))
    installed = await sessions.installations.activate(plan, signed(material, by_key(desk.payer)))
    assert isinstance(installed, Installed)
    raw = plan.terms.session_spec
    assert raw is not None
    mandate = Address(installed.mandate_id or "")
    _, approval = revoke_mandate(read_spec(raw), mandate)
    await desk.land_signed(approval, by_key(desk.payer))
    assert not await sessions.installations.is_installed(plan)
    assert "allowance" in await refusal(network, plan, OpenedMandate(mandate))


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
    assert AuthorityMode.MANDATE in watch.modes
    honest = desk.world.network(contracts=desk.contracts).sessions.contracts
    assert await honest.check()
    assert (honest.warnings, SESSION in honest.modes) == ((), True)
