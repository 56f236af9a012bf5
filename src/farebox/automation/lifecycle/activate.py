"""Activate a paid plan: what the owner authorized is held against the plan, then runs are made.

Every check that needs the network is made before the plan is locked; the state is judged again
under the lock, and everything is written in one transaction (3.5 row 6).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.automation.authority import presigned_store
from farebox.automation.authority.delegate_keys import BytesSealer
from farebox.automation.authority.issued_entries import issue_entries
from farebox.automation.authority.presigned_store import PresignedEntry
from farebox.automation.authority.stored_calls import decode_calls
from farebox.automation.execution.run_authority import entry_record
from farebox.automation.lifecycle import installed_session_store
from farebox.automation.lifecycle.dry_run import DryRun
from farebox.automation.lifecycle.installations import (
    Installations,
    Installed,
    InstallPending,
    InstallRequest,
    SignedInstallation,
    check_end,
)
from farebox.automation.lifecycle.lifecycle_network import (
    LifecycleNetwork,
    LifecycleNetworks,
    usable_network,
)
from farebox.automation.lifecycle.owned_plans import check_id, lock_owned, read_owned
from farebox.automation.lifecycle.presigned_entries import SignedEntry, match_entries
from farebox.automation.plans.proposal_state import (
    ProposalFacts,
    ProposalState,
    ProposalTrigger,
)
from farebox.automation.plans.proposal_transitions import move_proposal
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan, StoredProposal
from farebox.automation.refusal import AutomationRefused, AutomationUnavailable
from farebox.automation.runs.event_store import add_event
from farebox.automation.runs.move_plan import move_plan
from farebox.automation.sealed_columns import ENTRY_PURPOSE
from farebox.kernel.caller import Caller
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.secret import Secret
from farebox.stellar.auth_entries import AuthEntry
from farebox.storage.pool import Connection, Database

_UNPAID: Final = (ProposalState.PROPOSED, ProposalState.PAYMENT_PENDING)


@dataclass(frozen=True, slots=True)
class SignedRuns:
    """The owner has signed every run in advance."""

    entries: tuple[AuthEntry, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class NothingToInstall:
    """The target holds its own authority."""


ActivationRequest = NothingToInstall | SignedRuns | InstallRequest


@dataclass(frozen=True, slots=True)
class Activated:
    """The plan afterwards; `is_pending` while its installation is not final."""

    proposal: StoredProposal
    is_pending: bool = False


@dataclass(frozen=True, slots=True)
class _Judged:
    """What is written when the plan becomes active."""

    installed: Installed
    entries: tuple[SignedEntry, ...] = ()


class Activation:
    """Activates plans; `installations` are those of the modes that install something."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        networks: LifecycleNetworks,
        sealer: BytesSealer | None,
        installations: Mapping[AuthorityMode, Installations],
    ) -> None:
        self._database, self._clock = database, clock
        self._networks, self._sealer, self._installations = networks, sealer, installations

    async def activate(
        self, caller: Caller, request_id: str, proposal_id: str, request: ActivationRequest
    ) -> Activated:
        """Activate the caller's plan by what its owner has authorized.

        Raises:
            NotFound: the caller has no such plan.
            AutomationRefused: the code says which rule of 3.5 does not hold.
            NetworkUnavailable: no node answers.
            AutomationUnavailable: no funded paymaster is there.
            Outage: the database, the node or the vault is unavailable.
        """
        check_id(proposal_id)
        async with self._database.connection() as db:
            plan = (await read_owned(db, caller.owner, proposal_id)).plan
        check_may_activate(plan)
        network = usable_network(self._networks, plan.terms.network)
        now = self._clock.now()
        if not await DryRun(network, self._database).check_code(plan.terms):
            move_proposal(plan.state, ProposalTrigger.ACTIVATE, _facts(plan, code=False))
        try:
            judged = await self._judge(network, plan, request, now)
        except Refusal:  # what it advises is for a plan that still waits for its activation
            async with self._database.connection() as db:
                check_may_activate((await read_owned(db, caller.owner, proposal_id)).plan)
            raise
        async with self._database.transaction() as db:
            locked = await lock_owned(db, caller.owner, proposal_id)
            check_may_activate(locked)
            is_pending = isinstance(judged, InstallPending)
            if isinstance(judged, InstallPending):
                await self._wait(db, locked, judged)
            else:
                await self._write(db, locked, judged, now)
                event = AuditEvent(caller, Action.PLAN_ACTIVATED, proposal_id, request_id)
                await insert_event(db, event)
            proposal = await read_owned(db, caller.owner, proposal_id)
        return Activated(proposal, is_pending)

    async def finish(self, plan: StoredPlan, request: InstallRequest) -> bool:
        """Ask again for an installation that was pending; whether the plan is active now.

        Raises:
            AutomationRefused: what was installed is not the plan's session, or the plan cannot be
                activated any more.
            Outage: as `activate`.
        """
        check_may_activate(plan)
        network = usable_network(self._networks, plan.terms.network)
        judged = await self._judge(network, plan, request, self._clock.now())
        if isinstance(judged, InstallPending):
            return False
        async with self._database.transaction() as db:
            locked = await lock_owned(db, plan.terms.owner, plan.terms.id)
            check_may_activate(locked)
            await self._write(db, locked, judged, self._clock.now())
        return True

    async def _judge(
        self,
        network: LifecycleNetwork,
        plan: StoredPlan,
        request: ActivationRequest,
        now: datetime,
    ) -> _Judged | InstallPending:
        terms, dry_run = plan.terms, DryRun(network, self._database)
        check_end(terms, network.reading(), now)
        if terms.mode is AuthorityMode.PRESIGNED and isinstance(request, SignedRuns):
            return await self._judge_entries(network, terms, request, now)
        if terms.mode is AuthorityMode.OPEN and isinstance(request, NothingToInstall):
            await dry_run.check_run(terms, at=now)
            return _Judged(Installed(network.reading().sequence))
        installations = self._installations.get(terms.mode)
        if installations is None or isinstance(request, SignedRuns | NothingToInstall):
            raise AutomationRefused(ErrorCode.SESSION_MISMATCH, _expected(terms.mode))
        if isinstance(request, SignedInstallation):  # the paymaster would send it
            await dry_run.check_plan(plan, now)
        found = await installations.activate(plan, request)
        if isinstance(found, InstallPending):
            return found
        reading = network.reading()
        check_end(terms, reading, now, ledger=found.valid_until_ledger, at=found.valid_until)
        await dry_run.check_run(terms, at=now)
        return _Judged(found)

    async def _judge_entries(
        self, network: LifecycleNetwork, terms: PlanTerms, request: SignedRuns, now: datetime
    ) -> _Judged:
        reading = network.reading()
        if terms.account is None:
            raise AutomationRefused(ErrorCode.SESSION_MISMATCH, _expected(AuthorityMode.OPEN))
        planned = decode_calls(terms.calls).planned
        issued = issue_entries(terms, planned, terms.account, network.nonce_key, reading, at=now)
        entries = match_entries(
            request.entries, issued, network=terms.network, account=terms.account, now=reading
        )
        await DryRun(network, self._database).check_entries(terms, entries, at=now)
        last = max(each.entry.expires_at_ledger for each in entries)
        installed = Installed(
            reading.sequence, valid_until=terms.window.not_after, valid_until_ledger=last
        )
        return _Judged(installed, entries)

    async def _write(
        self, db: Connection, plan: StoredPlan, judged: _Judged, now: datetime
    ) -> None:
        terms = plan.terms
        entries = [self._seal(terms, each) for each in judged.entries]
        await presigned_store.add_entries(db, terms.id, entries)
        await installed_session_store.write_installed(
            db, terms, judged.installed, presigned=len(entries)
        )
        await move_plan(db, plan, ProposalTrigger.ACTIVATE, _facts(plan), now=now)

    async def _wait(self, db: Connection, plan: StoredPlan, pending: InstallPending) -> None:
        await installed_session_store.write_pending(db, plan.terms, pending.tx_hash)
        data = {"transaction": pending.tx_hash.hex()}
        await add_event(db, plan.terms.id, "session.install_pending", data)

    def _seal(self, terms: PlanTerms, signed: SignedEntry) -> PresignedEntry:
        if self._sealer is None:
            raise AutomationUnavailable
        run_index, leg_index = signed.place
        sealed = self._sealer.seal(
            Secret(signed.entry.raw),
            owner=terms.owner,
            purpose=ENTRY_PURPOSE,
            record=entry_record(terms.id, run_index, leg_index),
        )
        entry = signed.entry
        return PresignedEntry(
            run_index, leg_index, entry.nonce, entry.expires_at_ledger, Secret(sealed)
        )


def check_may_activate(plan: StoredPlan) -> None:
    """Check the state and the paid runs, which need no network.

    Raises:
        AutomationRefused: `illegal_transition`.
    """
    if plan.state in _UNPAID:
        why = "The plan is not paid: pay for its runs first."
        raise AutomationRefused(ErrorCode.ILLEGAL_TRANSITION, why)
    move_proposal(plan.state, ProposalTrigger.ACTIVATE, _facts(plan))


def _facts(plan: StoredPlan, *, code: bool = True) -> ProposalFacts:
    return ProposalFacts(runs_left=plan.counters.runs_left, code_is_unchanged=code)


def _expected(mode: AuthorityMode) -> str:
    wanted = {
        AuthorityMode.OPEN: "{}, since nothing is installed",
        AuthorityMode.PRESIGNED: "presignedEntriesXdr",
        AuthorityMode.MANDATE: "mandateId, signedEntriesXdr or installTxHash",
        AuthorityMode.SESSION: "installTxHash or signedEntriesXdr",
    }
    return f"The plan's mode is {mode}: send {wanted[mode]}."
