"""Pause, resume and cancel a plan: what its owner may ask for at any time (3.5 rows 9, 10, 12)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.automation.authority.ledger_bounds import still_lives
from farebox.automation.lifecycle import installed_session_store
from farebox.automation.lifecycle.dry_run import DryRun
from farebox.automation.lifecycle.installations import Installations
from farebox.automation.lifecycle.lifecycle_network import (
    LifecycleNetwork,
    LifecycleNetworks,
    usable_network,
)
from farebox.automation.lifecycle.owned_plans import check_id, lock_owned, read_owned
from farebox.automation.plans.proposal_state import (
    PauseReason,
    ProposalFacts,
    ProposalState,
    ProposalTrigger,
)
from farebox.automation.plans.proposal_transitions import move_proposal
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan, StoredProposal
from farebox.automation.refusal import AutomationRefused
from farebox.automation.runs import held_legs, run_store, unresolved_runs
from farebox.automation.runs.event_store import add_event
from farebox.automation.runs.materialise import find_next
from farebox.automation.runs.move_plan import move_plan
from farebox.kernel.caller import Caller
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.storage.pool import Connection, Database

_NOT_A_FAULT: Final = frozenset(
    (PauseReason.OWNER, PauseReason.OPERATOR, PauseReason.NETWORK_UNHEALTHY)
)


class PlanChanges:
    """The owner's changes of plans; each and its audit event are one transaction."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        networks: LifecycleNetworks,
        installations: Mapping[AuthorityMode, Installations],
    ) -> None:
        self._database, self._clock = database, clock
        self._networks, self._installations = networks, installations

    async def pause(
        self, caller: Caller, request_id: str, proposal_id: str, note: str | None
    ) -> StoredProposal:
        """Stop making runs; a transaction that is under way is left to end.

        The other legs of a run of which one has landed, or may have, wait for the resume.

        Raises:
            NotFound: the caller has no such plan.
            AutomationRefused: `illegal_transition`.
        """
        check_id(proposal_id)
        async with self._database.transaction() as db:
            plan = await lock_owned(db, caller.owner, proposal_id)
            facts = ProposalFacts(is_cancelling=plan.is_cancelling)
            reason = PauseReason.OWNER.value
            await move_plan(
                db, plan, ProposalTrigger.PAUSE, facts, now=self._clock.now(), reason=reason
            )
            await self._record(db, caller, request_id, proposal_id, Action.PLAN_PAUSED, note)
            return await read_owned(db, caller.owner, proposal_id)

    async def cancel(
        self, caller: Caller, request_id: str, proposal_id: str, note: str | None
    ) -> StoredProposal:
        """End a plan: unused runs become credit; a run that is under way is finished first.

        Raises:
            NotFound: the caller has no such plan.
            AutomationRefused: `illegal_transition`.
        """
        check_id(proposal_id)
        async with self._database.transaction() as db:
            plan = await lock_owned(db, caller.owner, proposal_id)
            is_busy = await run_store.lock_due_run(db, proposal_id)
            facts = ProposalFacts(has_unresolved_run=is_busy, runs_left=plan.counters.runs_left)
            await move_plan(
                db,
                plan,
                ProposalTrigger.CANCEL,
                facts,
                now=self._clock.now(),
                reason=PauseReason.OWNER.value,
            )
            await self._record(db, caller, request_id, proposal_id, Action.PLAN_CANCELLED, note)
            return await read_owned(db, caller.owner, proposal_id)

    async def resume(
        self, caller: Caller, request_id: str, proposal_id: str, note: str | None
    ) -> StoredProposal:
        """Let a paused plan go on with its next due time, by its missed-run rule.

        Raises:
            NotFound: the caller has no such plan.
            AutomationRefused: the code says which rule of 3.5 does not hold.
            Outage: the database or the node is unavailable.
        """
        check_id(proposal_id)
        async with self._database.connection() as db:
            plan = (await read_owned(db, caller.owner, proposal_id)).plan
            await check_may_resume(db, plan, self._clock.now())
        facts = await self.judge_resume(plan)
        async with self._database.transaction() as db:
            locked = await lock_owned(db, caller.owner, proposal_id)
            await check_may_resume(db, locked, self._clock.now())
            if locked.reason != plan.reason:
                why = "The plan was paused anew: ask again."
                raise AutomationRefused(ErrorCode.ILLEGAL_TRANSITION, why)
            await move_plan(db, locked, ProposalTrigger.RESUME, facts, now=self._clock.now())
            await self._record(db, caller, request_id, proposal_id, Action.PLAN_RESUMED, note)
            return await read_owned(db, caller.owner, proposal_id)

    async def judge_resume(self, plan: StoredPlan) -> ProposalFacts:
        """The facts of a resume: cause, session and runs, as of now.

        Raises:
            AutomationRefused: why the first run would fail.
            NetworkUnavailable: no node answers.
            AutomationUnavailable: no funded paymaster is there.
        """
        network, now = usable_network(self._networks, plan.terms.network), self._clock.now()
        dry_run = DryRun(network, self._database)
        is_same_code = await dry_run.check_code(plan.terms)
        is_caused = plan.reason not in {each.value for each in _NOT_A_FAULT}
        outlives_next = await self._outlives_next_run(network, plan, now)
        if is_same_code and outlives_next and is_caused:
            await self._check_cause(dry_run, plan, now)
        return ProposalFacts(
            runs_left=plan.counters.runs_left,
            has_paid_legs=await self._has_paid_legs(plan, now),
            cause_is_gone=is_same_code,
            session_matches=await self._is_installed(plan),
            session_outlives_first_run=outlives_next,
        )

    async def _check_cause(self, dry_run: DryRun, plan: StoredPlan, now: datetime) -> None:
        """Check that a run would succeed now; entries that were signed ahead are for runs only."""
        if plan.terms.mode is not AuthorityMode.PRESIGNED:
            await dry_run.check_run(plan.terms, at=now)

    async def _is_installed(self, plan: StoredPlan) -> bool:
        installations = self._installations.get(plan.terms.mode)
        if installations is None:
            return plan.terms.mode in (AuthorityMode.OPEN, AuthorityMode.PRESIGNED)
        return await installations.is_installed(plan)

    async def _outlives_next_run(
        self, network: LifecycleNetwork, plan: StoredPlan, now: datetime
    ) -> bool:
        """Whether what the owner authorized lives past the next run, which it must."""
        terms = plan.terms
        async with self._database.connection() as db:
            following = await find_next(db, terms, now)
            if following is None:
                return await has_paid_legs(db, plan, now)
            (run_index, _), at = following.place, max(now, following.scheduled_for)
            if terms.mode is AuthorityMode.PRESIGNED:
                last = await installed_session_store.find_entry_end(db, terms.id, run_index)
                return last is not None and still_lives(network.reading(), last, at)
            end = await installed_session_store.find_end(db, terms.id)
        if end is None or end.ledger is None:
            return end is None or end.at is None or end.at > at
        return still_lives(network.reading(), end.ledger, at)

    async def _has_paid_legs(self, plan: StoredPlan, now: datetime) -> bool:
        async with self._database.connection() as db:
            return await has_paid_legs(db, plan, now)

    async def _record(
        self,
        db: Connection,
        caller: Caller,
        request_id: str,
        proposal_id: str,
        action: Action,
        note: str | None,
    ) -> None:
        await insert_event(db, AuditEvent(caller, action, proposal_id, request_id))
        if note:
            await add_event(db, proposal_id, "plan.note", {"note": note})


async def has_paid_legs(db: Connection, plan: StoredPlan, now: datetime) -> bool:
    """Whether legs of a run that is paid wait, or may be repeated."""
    has_runs = plan.counters.runs_left > 0
    return await held_legs.find_paid_end(db, plan.terms, now=now, has_runs=has_runs) is not None


async def check_may_resume(db: Connection, plan: StoredPlan, now: datetime) -> None:
    """Check what of a resume by the owner needs no network.

    Raises:
        AutomationRefused: `illegal_transition`.
    """
    is_operators = plan.reason == PauseReason.OPERATOR.value
    is_unknown = plan.reason == PauseReason.OUTCOME_UNKNOWN.value
    is_unknown = is_unknown or await unresolved_runs.has_abandoned(db, plan.terms.id)
    if plan.state is ProposalState.PAUSED and is_unknown:
        why = "The outcome of a run is not known: the operator looks into it."
        raise AutomationRefused(ErrorCode.ILLEGAL_TRANSITION, why)
    move_proposal(
        plan.state,
        ProposalTrigger.RESUME,
        ProposalFacts(
            is_cancelling=plan.is_cancelling,
            runs_left=plan.counters.runs_left,
            has_paid_legs=await has_paid_legs(db, plan, now),
            caller_may_resume=not is_operators,
        ),
    )
