"""Records what happens to runs: every change is fenced by the run's lease, and has all its effects.

Rules decide (`run_state.py`, `legs.py`, `proposal_transitions.py`); here their effects become rows,
one transaction for each change. The plan's row is locked before the run's.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

import structlog

from farebox.automation.authority import presigned_store
from farebox.automation.paymaster import budget_store, channel_store
from farebox.automation.paymaster.budget_store import AutomationBudgets, RunCharge, SpendScope
from farebox.automation.plans import proposal_store
from farebox.automation.plans.proposal_state import (
    PauseReason,
    ProposalFacts,
    ProposalTrigger,
)
from farebox.automation.plans.proposal_transitions import may_move
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.runs import attempt_store, claim_store, held_legs, run_store
from farebox.automation.runs.event_store import add_run_event
from farebox.automation.runs.finish_leg import finish_leg
from farebox.automation.runs.move_plan import move_plan, settle_plan
from farebox.automation.runs.pause_rule import find_pause_reason
from farebox.automation.runs.receipts import ReceiptSigner, sign_receipt
from farebox.automation.runs.run import Attempt, AttemptOutcome, Run
from farebox.automation.runs.run_end import EndedAttempt, RunEnd
from farebox.automation.runs.run_state import RunEffect, RunState, RunTrigger, move_run
from farebox.automation.runs.session_codes import CLOSED
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.storage.pool import Connection, Database

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class AttemptRecording(StrEnum):
    """Whether an attempt was recorded, so that its envelope may be sent."""

    RECORDED = "recorded"
    LEASE_LOST = "lease_lost"
    PLAN_STOPPED = "plan_stopped"  # paused, cancelled, or no paid run is left
    NETWORK_STOPPED = "network_stopped"  # by the operator
    BUDGET_TOTAL = "budget_total"
    BUDGET_OWNER = "budget_owner"
    LOSS_OWNER = "loss_owner"  # failed runs, of the owner
    LOSS_NEW = "loss_new_owners"  # of all owners together of whom hardly a run has succeeded


_USED_UP = MappingProxyType(
    {
        SpendScope.TOTAL: AttemptRecording.BUDGET_TOTAL,
        SpendScope.OWNER: AttemptRecording.BUDGET_OWNER,
        SpendScope.LOSS: AttemptRecording.LOSS_OWNER,
        SpendScope.NEW_OWNERS: AttemptRecording.LOSS_NEW,
    }
)


class _NotRecorded(Exception):
    def __init__(self, why: AttemptRecording) -> None:
        super().__init__(why)
        self.why = why


PLAN_STOPPED = "plan_stopped"  # the reason of a run
_NOTHING_ELSE = RunEnd()


class RunJournal:
    """The rows of runs, attempts and plans, as the executor changes them."""

    def __init__(
        self, database: Database, clock: Clock, signer: ReceiptSigner, budgets: AutomationBudgets
    ) -> None:
        self._database, self._clock = database, clock
        self._signer, self._budgets = signer, budgets

    async def begin(self, run: Run) -> tuple[Run, StoredPlan] | None:
        """Begin a claimed run, with its plan as it is now; None when the lease was lost.

        Raises:
            DatabaseUnavailable: the lease will be lost.
        """
        after = replace(run, state=move_run(run.state, RunTrigger.BEGIN).to)
        async with self._database.transaction() as db:
            plan = await proposal_store.find_plan(db, run.proposal_id)
            if plan is None or not await run_store.save_run(db, run, after):
                return None
        return after, plan

    async def advance(self, run: Run, trigger: RunTrigger, after: Run | None = None) -> Run | None:
        """Make a change without an effect on the plan; None when the lease was lost.

        Raises:
            DatabaseUnavailable: as `begin`.
        """
        moved = replace(after or run, state=move_run(run.state, trigger).to)
        async with self._database.connection() as db:
            return moved if await run_store.save_run(db, run, moved) else None

    async def look_later(self, run: Run, pause: timedelta) -> Run | None:
        """Leave a run whose outcome is unknown to whichever process looks after the pause.

        None when the lease was lost.

        Raises:
            DatabaseUnavailable: the lease passes.
        """
        until = self._clock.now() + pause
        async with self._database.connection() as db:
            return run if await claim_store.set_lease_end(db, run, until=until) else None

    async def record_attempt(
        self, run: Run, attempt: Attempt, sealed: bytes
    ) -> Run | AttemptRecording:
        """Record an envelope before the network sees it, and reserve its fee from both budgets.

        Returns the run in the state `submitted`, or why nothing was recorded.

        Raises:
            DatabaseUnavailable: whether it was recorded is not known: it must not be sent.
        """
        after = replace(
            run,
            state=move_run(run.state, RunTrigger.SUBMIT).to,
            attempts=run.attempts + 1,
            channel=attempt.sent.source,
            channel_sequence=attempt.sent.source_sequence,
        )
        try:
            async with self._database.transaction() as db:
                await self._record(db, run, after, attempt, sealed)
        except _NotRecorded as refused:
            return refused.why
        return after

    async def _record(
        self,
        db: Connection,
        run: Run,
        after: Run,
        attempt: Attempt,
        sealed: bytes,
    ) -> None:
        plan = await proposal_store.lock_plan(db, run.proposal_id)
        if plan is None or not plan.may_make(is_charged=run.is_charged):
            raise _NotRecorded(AttemptRecording.PLAN_STOPPED)
        if plan.terms.legs > 1 and await run_store.was_withdrawn(db, run):
            raise _NotRecorded(AttemptRecording.PLAN_STOPPED)  # paused, and resumed meanwhile
        if not await run_store.save_run(db, run, after):
            raise _NotRecorded(AttemptRecording.LEASE_LOST)
        charge = await _read_charge(db, run, attempt)
        added = await attempt_store.add_attempt(
            db,
            attempt,
            network=run.network,
            owner=run.owner,
            sealed=sealed,
            is_new_owner=charge.is_new_owner is True,
        )
        if not added:
            raise _NotRecorded(AttemptRecording.NETWORK_STOPPED)
        used_up = await budget_store.reserve(db, charge, self._budgets)
        if used_up is not None:
            raise _NotRecorded(_USED_UP[used_up])

    async def find_used_up(
        self, terms: PlanTerms, fee: Stroops, *, on: date
    ) -> AttemptRecording | None:
        """The budget of a day that a transaction of a plan does not fit in; None where it fits.

        Raises:
            DatabaseUnavailable: it is not known.
        """
        async with self._database.connection() as db:
            is_new = await budget_store.is_new_owner(db, terms.owner, terms.network)
            charge = RunCharge(terms.network, terms.owner, on, fee, is_new_owner=is_new)
            used_up = await budget_store.find_used_up(db, charge, self._budgets)
        return None if used_up is None else _USED_UP[used_up]

    async def mark_sent(self, attempt: Attempt) -> None:
        """Record that a node took an attempt's envelope.

        Raises:
            DatabaseUnavailable: nothing depends on it.
        """
        async with self._database.connection() as db:
            await attempt_store.mark_sent(db, attempt.sent.tx_hash)

    async def find_attempt(self, run: Run) -> tuple[Attempt, bytes] | None:
        """The run's attempt whose outcome is not known, with its sealed envelope.

        Raises:
            DatabaseUnavailable: as `begin`.
        """
        async with self._database.connection() as db:
            return await attempt_store.find_open(db, run.id)

    async def move(
        self, run: Run, trigger: RunTrigger, after: Run, end: RunEnd = _NOTHING_ELSE
    ) -> Run | None:
        """Change a run with every effect; None when the lease was lost, and then nothing changed.

        `after` has the members that change; its state is the rules'.

        Raises:
            DatabaseUnavailable: whether it changed is not known; recovery finds it.
        """
        async with self._database.transaction() as db:
            plan = await proposal_store.lock_plan(db, run.proposal_id)
            return None if plan is None else await self._move(db, plan, run, trigger, after, end)

    async def stop(self, run: Run, reason: str, pause: PauseReason | None = None) -> Run | None:
        """End a claimed run that its plan does not make now; None when the lease was lost.

        A leg of a started run waits for the resume, or its deadline. `pause` pauses the plan.

        Raises:
            DatabaseUnavailable: as `move`.
        """
        after, end = replace(run.without_channel(), reason=reason), RunEnd(pause=pause)
        async with self._database.transaction() as db:
            plan = await proposal_store.lock_plan(db, run.proposal_id)
            if plan is None:
                return None
            due_at = await held_legs.find_due_at(db, plan, run, pause=pause, now=self._clock.now())
            if due_at is None:
                return await self._move(db, plan, run, RunTrigger.WITHDRAW, after, end)
            after = replace(after, due_at=due_at, error_class=None, error_code=None)
            return await self._move(db, plan, run, RunTrigger.DEFER, after, end)

    async def _move(
        self,
        db: Connection,
        plan: StoredPlan,
        run: Run,
        trigger: RunTrigger,
        after: Run,
        end: RunEnd,
    ) -> Run | None:
        """Change a run of a locked plan; None when the lease was lost."""
        transition = move_run(run.state, trigger)
        now = self._clock.now()
        after = replace(after, state=transition.to)
        if after.is_final:
            after = self._sign(plan, replace(after, due_at=None), end)
        if not await run_store.save_run(db, run, after):
            return None
        await self._end_attempt(db, end.ended)
        await self._free_channel(db, run, after, transition.effects, end.ended)
        if after.state is RunState.SUCCEEDED and plan.terms.mode is AuthorityMode.PRESIGNED:
            await presigned_store.mark_used(
                db, plan.terms.id, run_index=run.run_index, leg_index=run.leg_index
            )
        await add_run_event(db, after)
        await self._follow(db, plan, run, after, transition.effects, end, now)
        if end.refused is not None:
            charge = await _read_charge(db, run, end.refused)
            if await budget_store.has_room(db, charge, self._budgets):
                await run_store.make_due(db, run.id, now)  # it was released meanwhile
        return after

    async def _follow(
        self,
        db: Connection,
        plan: StoredPlan,
        before: Run,
        after: Run,
        effects: Sequence[RunEffect],
        end: RunEnd,
        now: datetime,
    ) -> None:
        """The effects on the plan: counters, breaker, and what comes next."""
        counters = plan.counters
        if after.is_final:
            counters = await finish_leg(db, plan, before, after, effects, now=now)
        if end.hits_ceiling:
            counters = replace(counters, ceilings_hit=counters.ceilings_hit + 1)
        if counters != plan.counters:
            plan = replace(plan, counters=counters)
            await proposal_store.write_counters(db, plan.terms.id, counters)
        reason = await _read_pause(db, after, end) or find_pause_reason(plan, after, effects)
        facts = ProposalFacts(
            is_cancelling=plan.is_cancelling,
            has_unresolved_run=await run_store.lock_due_run(db, plan.terms.id),
        )
        is_revoked = RunEffect.STOP_PLAN in effects and after.error_code == CLOSED
        if is_revoked and may_move(plan.state, ProposalTrigger.FAIL, facts):
            await move_plan(db, plan, ProposalTrigger.FAIL, facts, now=now, reason=CLOSED)
        elif reason is not None and may_move(plan.state, ProposalTrigger.PAUSE, facts):
            await move_plan(
                db,
                plan,
                ProposalTrigger.PAUSE,
                facts,
                now=now,
                reason=reason.value,
                fee_now=end.fee_now,
            )
        elif after.is_final or plan.is_cancelling:
            await settle_plan(db, plan, now)

    async def _end_attempt(self, db: Connection, ended: EndedAttempt | None) -> None:
        """Record an attempt's outcome, and give back what it did not cost.

        The reservation of an unknown outcome stays spent, and lost. The fee of one that failed is a
        loss: only what succeeds is paid for.
        """
        if ended is None:
            return
        charge = await attempt_store.end_attempt(
            db,
            ended.attempt.sent.tx_hash,
            ended.outcome,
            error_code=ended.error_code,
            fee_charged=None if ended.outcome is AttemptOutcome.UNKNOWN else ended.fee_charged,
        )
        if charge is not None and ended.outcome is not AttemptOutcome.UNKNOWN:
            cost = ended.fee_charged
            loss = 0 if ended.outcome is AttemptOutcome.SUCCESS else cost
            await budget_store.give_back(db, charge, cost=cost, loss=loss)
            await run_store.wake_deferred(db, charge.network, charge.owner, now=self._clock.now())

    async def _free_channel(
        self,
        db: Connection,
        run: Run,
        after: Run,
        effects: Sequence[RunEffect],
        ended: EndedAttempt | None,
    ) -> None:
        """Give the channel back once the run is resolved, or while nothing of it was ever sent.

        A run that is tried again after a dead envelope keeps channel and number.
        """
        is_released = RunEffect.RELEASE_CHANNEL in effects
        if is_released or (not after.keeps_lease and not after.is_final and after.channel is None):
            landed = ended is not None and ended.uses_sequence
            used = run.channel_sequence if landed else None
            await channel_store.free_channel(db, run.id, used_sequence=used)

    def _sign(self, plan: StoredPlan, run: Run, end: RunEnd) -> Run:
        try:
            receipt = sign_receipt(
                self._signer, plan, run, changes=end.changes, closed_at=end.closed_at
            )
        except Outage:
            log.exception("automation.receipt_not_signed", run=run.id)
            return run
        return replace(run, receipt=receipt)


async def _read_charge(db: Connection, run: Run, attempt: Attempt) -> RunCharge:
    """What an attempt may cost, of which budgets."""
    is_new = await budget_store.is_new_owner(db, run.owner, run.network)
    fee = attempt.sent.fee_limit
    return RunCharge(run.network, run.owner, attempt.budget_on, fee, is_new_owner=is_new)


async def _read_pause(db: Connection, run: Run, end: RunEnd) -> PauseReason | None:
    """Why an end pauses the plan; a run that has used its credit is not sold again."""
    if end.pause is PauseReason.NEW_QUOTE and await run_store.is_charged(db, run.id):
        return None
    return end.pause
