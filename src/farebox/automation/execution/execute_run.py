"""Execute one claimed run, from its check to its end (3.10)."""

from dataclasses import dataclass, replace
from typing import Final, Protocol

import structlog

from farebox.automation.authority.stored_calls import RunCalls, decode_calls
from farebox.automation.execution.build_run import FEE_ABOVE_QUOTE, RunBuilder, RunNotBuilt
from farebox.automation.execution.check_condition import (
    CheckBroken,
    ConditionAnswer,
    ConditionCheck,
    ConditionFails,
    ConditionHolds,
)
from farebox.automation.execution.code_pin import PinState, check_pin
from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.execution.fail_run import RunFailures
from farebox.automation.execution.resolve_run import RunResolver
from farebox.automation.execution.send_run import RunSender, SimulationOld
from farebox.automation.plans.plan_credit import limit_of
from farebox.automation.plans.proposal_state import PauseReason
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.plans.wire import PlanKind
from farebox.automation.runs.materialise import next_poll
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.automation.runs.run_end import RunEnd
from farebox.automation.runs.run_journal import PLAN_STOPPED, RunJournal
from farebox.automation.runs.run_state import RunTrigger
from farebox.automation.schedules.schedule import ConditionSchedule
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import Clock
from farebox.stellar.ledger_clock import ClockStale, LedgerReading, Ledgers
from farebox.stellar.simulation_slots import SimulationPurpose, simulating_for

_REBUILDS: Final = 3  # of one execution, each after a wait for a channel
_NEXT_LEDGER_S: Final = 15.0
_POLL_S: Final = 0.25

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class DriftCheck(Protocol):
    """Asks whether a portfolio has drifted from its weights."""

    async def ask(self, terms: PlanTerms, now: LedgerReading) -> ConditionAnswer: ...


@dataclass(frozen=True, slots=True)
class RunExecution:
    """The steps of a run on one network."""

    journal: RunJournal
    check: ConditionCheck
    builder: RunBuilder
    sender: RunSender
    failures: RunFailures
    resolver: RunResolver
    ledger: EntryReader
    ledgers: Ledgers
    drift: DriftCheck


class RunExecutor:
    """Executes claimed runs; every step stops where its lease was lost."""

    def __init__(self, steps: RunExecution, clock: Clock) -> None:
        self._steps, self._clock = steps, clock

    async def execute(self, claimed: Run) -> Run | None:
        """Execute a claimed run; the run as it is then, or None when the lease was lost.

        Raises:
            DatabaseUnavailable: the lease passes, or recovery finds what was sent.
        """
        begun = await self._steps.journal.begin(claimed)
        if begun is None:
            return None
        run, plan = begun
        journal = self._steps.journal
        if self._clock.now() > run.deadline_at:
            return await journal.move(run, RunTrigger.MISS, replace(run, reason="deadline"))
        if not plan.may_make(is_charged=run.is_charged):
            return await journal.stop(run, PLAN_STOPPED)
        calls = decode_calls(plan.terms.calls)
        target = calls.planned.calls[0].allowed.contract
        pin = await check_pin(self._steps.ledger, plan.terms, target)
        if pin is PinState.UNKNOWN:
            return await self._fail(run, ErrorClass.TRANSPORT, "network_unavailable")
        if pin is PinState.CHANGED:
            upgraded = PauseReason.TARGET_UPGRADED
            return await journal.stop(run, upgraded.value, upgraded)
        return await self._check_and_send(run, plan, calls)

    async def resume(self, run: Run, plan: StoredPlan) -> Run | None:
        """Observe what a lost process has sent for the run.

        Raises:
            DatabaseUnavailable: the next recovery finds the run as it is.
        """
        return await self._steps.sender.resume(run, plan.terms)

    async def _check_and_send(self, run: Run, plan: StoredPlan, calls: RunCalls) -> Run | None:
        with simulating_for(SimulationPurpose.POLL, plan.share):
            answer = await self._ask(plan, calls)
        if isinstance(answer, CheckBroken):
            return await self._fail(run, answer.error, answer.code)
        if isinstance(answer, ConditionFails):
            return await self._decline(run, plan)
        checked = None if answer is None else answer.ledger
        after = replace(run, checked_ledger=checked)
        building = await self._steps.journal.advance(run, RunTrigger.CHECK_ACCEPTED, after)
        if building is None:
            return None
        for _ in range(_REBUILDS):
            paid = paid_limit(building, plan)
            built = await self._steps.builder.build(plan.terms, calls, building, paid=paid)
            if isinstance(built, RunNotBuilt):
                return await self._refuse(building, plan, built)
            try:
                return await self._steps.sender.send(building, plan.terms, built)
            except SimulationOld:
                log.info("automation.run_built_again", run=run.id)
        return await self._steps.failures.wait_for_channel(building)

    async def _ask(self, plan: StoredPlan, calls: RunCalls) -> ConditionAnswer | None:
        """The target's answer; None where the plan has no check.

        A condition must hold in two ledgers, so that one that flickers starts no run. A portfolio
        is asked for its drift.
        """
        if calls.check is None:
            return await self._ask_drift(plan, calls)
        first = await self._steps.check.ask(calls.check, plan.terms.owner)
        is_polled = isinstance(plan.terms.schedule, ConditionSchedule)
        if not (is_polled and isinstance(first, ConditionHolds)):
            return first
        until = self._clock.monotonic() + _NEXT_LEDGER_S
        while self._clock.monotonic() < until:
            if self._newest_ledger() > first.ledger:
                second = await self._steps.check.ask(calls.check, plan.terms.owner)
                if not isinstance(second, ConditionHolds) or second.ledger > first.ledger:
                    return second
            await self._clock.sleep(_POLL_S)
        return CheckBroken(ErrorClass.TRANSPORT, "no_new_ledger")

    async def _ask_drift(self, plan: StoredPlan, calls: RunCalls) -> ConditionAnswer | None:
        is_open = plan.terms.mode is AuthorityMode.OPEN
        if plan.terms.kind is not PlanKind.REBALANCE or is_open:
            return None
        try:
            return await self._steps.drift.ask(plan.terms, self._steps.ledgers.now())
        except ClockStale:
            return CheckBroken(ErrorClass.TRANSPORT, "network_unavailable")

    def _newest_ledger(self) -> int:
        try:
            return self._steps.ledgers.now().sequence
        except ClockStale:
            return 0

    async def _decline(self, run: Run, plan: StoredPlan) -> Run | None:
        """The target said no: the next poll of a condition, or the end of this run."""
        declined = replace(run, reason="check_declined")
        journal = self._steps.journal
        if not isinstance(plan.terms.schedule, ConditionSchedule):
            return await journal.move(run, RunTrigger.CHECK_DECLINED, declined)
        polled = next_poll(plan, replace(declined, error_class=None), self._clock.now())
        if polled is None:
            return await journal.move(run, RunTrigger.MISS, declined)
        return await journal.move(run, RunTrigger.POLL_DECLINED, polled)

    async def _refuse(self, run: Run, plan: StoredPlan, refused: RunNotBuilt) -> Run | None:
        if refused.is_used:
            return await self._steps.resolver.find_used(run, plan.terms, refused.nonce)
        if refused.code == FEE_ABOVE_QUOTE:
            return await self._ask_new_quote(run, refused)
        return await self._fail(run, refused.error, refused.code)

    async def _ask_new_quote(self, run: Run, refused: RunNotBuilt) -> Run | None:
        """Fail a run that costs more than was paid for it; its plan pauses for a new quote.

        The plan of a run that has used its credit does not pause.
        """
        after = replace(
            run,
            reason=refused.code,
            error_class=refused.error,
            error_code=refused.code,
            attempts=run.attempts + 1,
        )
        end = RunEnd(pause=PauseReason.NEW_QUOTE, fee_now=refused.fee)
        log.info("automation.fee_above_quote", run=run.id, fee=refused.fee)
        return await self._steps.journal.move(run, RunTrigger.REFUSE, after, end)

    async def _fail(self, run: Run, error: ErrorClass, code: str) -> Run | None:
        return await self._steps.failures.fail(run, error, code)


def paid_limit(run: Run, plan: StoredPlan) -> Stroops | None:
    """The most that a transaction of a run may cost by its price; None where runs are free.

    A run that has used its credit keeps the price that it was charged with.
    """
    if run.is_charged:
        return None if run.charged_fee is None else limit_of(run.charged_fee)
    return plan.counters.credit.fee_limit
