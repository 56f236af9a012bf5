"""From the fate of an envelope to the end of its run, by what the ledger proves (3.8).

What an absence proves is `submission`'s; here the use of the run's authorization is added. A run
whose outcome is unknown is observed until it is proven, ever more seldom, and never tried again
meanwhile. Only nodes that answer end the search, by a history that no longer reaches back, or by a
mandate that is gone: however long an outage lasts, it proves nothing.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Final, Protocol

import msgspec
import structlog

from farebox.automation.authority.ledger_bounds import ATTEMPT_LEDGERS, AttemptBounds
from farebox.automation.authority.stored_calls import decode_calls
from farebox.automation.execution.fail_run import RunFailures
from farebox.automation.execution.used_authorizations import (
    AuthorizationUse,
    UsedAuthorizations,
)
from farebox.automation.paymaster.paymaster import fee_paid
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.attempt import (
    AttemptDead,
    AttemptEvidence,
    AttemptUnprovable,
    AttemptUsed,
    judge_attempt,
)
from farebox.automation.runs.classify_error import classify_result
from farebox.automation.runs.effects_check import EffectsMeasured, judge_effects
from farebox.automation.runs.receipt import ExecutedBy, TokenChange, list_changes
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Attempt, AttemptOutcome, Run
from farebox.automation.runs.run_end import EndedAttempt, RunEnd
from farebox.automation.runs.run_journal import RunJournal
from farebox.automation.runs.run_state import RunState, RunTrigger
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import Clock
from farebox.stellar.events import decode_contract_event
from farebox.stellar.rpc import BAD_SEQUENCE, LedgerStatus, TransactionFound
from farebox.submission.fate import (
    Dead,
    Fate,
    Indeterminate,
    NotSent,
    Refused,
    SentEnvelope,
    Unproven,
)

_LOOK_S: Final = 10.0
_SHORTEST_PAUSE: Final = timedelta(seconds=2)
_LONGEST_PAUSE: Final = timedelta(hours=1)
_PAUSE_SHARE: Final = 10  # of the time that has passed since the envelope's bound
_WORTH_WAITING: Final = timedelta(seconds=10)  # a longer pause leaves room for other runs

OUTCOME_UNKNOWN: Final = "outcome_unknown"

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class FateWatcher(Protocol):
    """Looks for the fate of an envelope that was sent."""

    async def wait(self, sent: SentEnvelope, *, until: float) -> Fate: ...


class RunResolver:
    """Ends runs by the fates of their envelopes."""

    def __init__(
        self,
        watcher: FateWatcher,
        used: UsedAuthorizations,
        journal: RunJournal,
        failures: RunFailures,
        clock: Clock,
    ) -> None:
        self._watcher, self._used, self._journal = watcher, used, journal
        self._failures, self._clock = failures, clock

    async def resolve(self, run: Run, terms: PlanTerms, attempt: Attempt, fate: Fate) -> Run | None:
        """End or postpone a run by the fate of its attempt, or leave it to a later look.

        Returns the run as it is then; None when the lease was lost.

        Raises:
            DatabaseUnavailable: recovery finds the run as it is.
        """
        while True:
            moved = await self._judge(run, terms, attempt, fate)
            if moved is not run:
                return moved
            if run.state is RunState.SUBMITTED:
                unknown = replace(run, reason=OUTCOME_UNKNOWN)
                lost = await self._journal.advance(run, RunTrigger.LOSE_TRACK, unknown)
                if lost is None:
                    return None
                run = lost
            pause = pause_before_look(self._clock.now() - attempt.sent.max_time)
            if pause > _WORTH_WAITING:
                log.warning("automation.run_undecided", run=run.id, look_after_s=pause.seconds)
                return await self._journal.look_later(run, pause)
            await self._clock.sleep(pause.total_seconds())
            until = self._clock.monotonic() + _LOOK_S
            fate = await self._watcher.wait(attempt.sent, until=until)

    async def find_used(self, run: Run, terms: PlanTerms, nonce: int | None) -> Run | None:
        """End a run whose authorization a simulation says is used, if the ledger shows it.

        Raises:
            DatabaseUnavailable: the lease passes.
        """
        use = await self._used.read(replace(run, auth_nonce=nonce), terms)
        if use is None or not use.was_used:
            return await self._failures.fail(run, ErrorClass.SEQUENCE, "nonce_used")
        log.warning("automation.run_by_third_party", run=run.id)
        return await self._journal.move(run, RunTrigger.FIND_USED, _by_another(run))

    async def _judge(self, run: Run, terms: PlanTerms, attempt: Attempt, fate: Fate) -> Run | None:
        """The run after what the fate proves; the same run where it proves nothing yet."""
        match fate:
            case TransactionFound(status=LedgerStatus.SUCCESS):
                return await self._succeed(run, terms, attempt, fate)
            case TransactionFound():
                return await self._fail_on_ledger(run, terms, attempt, fate)
            case NotSent():
                ended = EndedAttempt(attempt, AttemptOutcome.DEAD, "not_sent")
                return await self._failures.fail(run, ErrorClass.TRANSPORT, "not_sent", ended=ended)
            case Refused(result_code=code):
                ended = EndedAttempt(attempt, AttemptOutcome.DEAD, code)
                if code == BAD_SEQUENCE:  # the channel's number is read again
                    run = run.without_channel()
                return await self._failures.fail(run, classify_result(code), code, ended=ended)
            case Dead() | Unproven():
                return await self._judge_absence(run, terms, attempt, fate)
            case Indeterminate():
                return run

    async def _judge_absence(
        self, run: Run, terms: PlanTerms, attempt: Attempt, fate: Dead | Unproven
    ) -> Run | None:
        sent, use = attempt.sent, await self._used.read(run, terms, attempt)
        has_counter = run.auth_nonce is None or attempt.uses_before is not None
        if use is None and (has_counter or isinstance(fate, Unproven)):
            return run  # what may show that it happened could not be read
        bounds = AttemptBounds(
            max_time=sent.max_time,
            max_ledger=sent.sent_after_ledger + ATTEMPT_LEDGERS,
            authorized_until=attempt.authorized_until or sent.sent_after_ledger,
        )
        seen = use or AuthorizationUse()
        evidence = AttemptEvidence(fate, run.auth_nonce is not None, seen.nonce, seen.counter)
        match judge_attempt(bounds, evidence):
            case AttemptDead():
                ended = EndedAttempt(attempt, AttemptOutcome.DEAD, "too_late")
                return await self._failures.fail(run, ErrorClass.TOO_LATE, "too_late", ended=ended)
            case AttemptUsed():
                ended = EndedAttempt(attempt, AttemptOutcome.DEAD, "used_by_another")
                return await self._record_other(run, ended)
            case AttemptUnprovable() if run.state is RunState.RECONCILING:
                is_dead = isinstance(fate, Dead)
                outcome = AttemptOutcome.DEAD if is_dead else AttemptOutcome.UNKNOWN
                return await self._abandon(run, attempt, outcome)
            case _:
                return run

    async def _succeed(
        self, run: Run, terms: PlanTerms, attempt: Attempt, found: TransactionFound
    ) -> Run | None:
        changes = _measure(run, terms, found)
        fee = fee_paid(attempt.sent, found)
        after = replace(
            run,
            reason=None,
            error_class=None,
            error_code=None,
            tx_hash=bytes.fromhex(found.hash),
            ledger=found.ledger,
            fee_charged=Stroops(run.fee_charged + fee),
            effects=msgspec.json.encode(changes).decode(),
            executed_by=ExecutedBy.SERVICE,
        )
        ended = EndedAttempt(attempt, AttemptOutcome.SUCCESS, fee_charged=fee)
        end = RunEnd(ended, changes, found.closed_at)
        log.info("automation.run_succeeded", run=run.id, tx_hash=found.hash)
        return await self._journal.move(run, RunTrigger.SUCCEED, after, end)

    async def _fail_on_ledger(
        self, run: Run, terms: PlanTerms, attempt: Attempt, found: TransactionFound
    ) -> Run | None:
        """Our transaction failed: perhaps because another one had used the authorization.

        It was simulated just before, so that the ledger has changed since: the run may be tried
        again, with a simulation that shows why.
        """
        code, fee = found.operation_code or found.result_code, fee_paid(attempt.sent, found)
        ended = EndedAttempt(attempt, AttemptOutcome.FAILED, code, fee)
        failed = replace(
            run,
            fee_charged=Stroops(run.fee_charged + fee),
            tx_hash=bytes.fromhex(found.hash),
            ledger=found.ledger,
        )
        use = await self._used.read(run, terms, attempt)
        if use is None:
            return run  # it is looked at again
        if use.was_used:
            return await self._record_other(run, ended)
        return await self._failures.fail(failed, ErrorClass.MARKET, code, ended=ended)

    async def _record_other(self, run: Run, ended: EndedAttempt) -> Run | None:
        """Another transaction used the run's authorization: it happened."""
        fee = Stroops(run.fee_charged + ended.fee_charged)
        after = replace(_by_another(run), fee_charged=fee)
        log.warning("automation.run_by_third_party", run=run.id)
        return await self._journal.move(run, RunTrigger.SUCCEED, after, RunEnd(ended))

    async def _abandon(self, run: Run, attempt: Attempt, outcome: AttemptOutcome) -> Run | None:
        """End the search; an envelope that is dead has cost nothing, whoever else made the run."""
        after = replace(run, reason=OUTCOME_UNKNOWN)
        ended = EndedAttempt(attempt, outcome, OUTCOME_UNKNOWN)
        abandoned = await self._journal.move(run, RunTrigger.ABANDON, after, RunEnd(ended))
        if abandoned is not None:
            log.error("automation.run_abandoned", alarm="automation_run_abandoned", run=run.id)
        return abandoned


def pause_before_look(age: timedelta) -> timedelta:
    """The pause before the next look for an envelope whose bound passed `age` ago."""
    return min(max(_SHORTEST_PAUSE, age / _PAUSE_SHARE), _LONGEST_PAUSE)


def _by_another(run: Run) -> Run:
    """A run that another transaction made, whose hash is not known."""
    return replace(
        run,
        executed_by=ExecutedBy.THIRD_PARTY,
        tx_hash=None,
        ledger=None,
        reason="used_by_another",
    )


def _measure(run: Run, terms: PlanTerms, found: TransactionFound) -> tuple[TokenChange, ...]:
    """The account's token movements in a transaction that landed.

    Movements that the plan does not declare are an alarm: they were simulated just before.
    """
    if terms.account is None:
        return ()
    encoded = (event for operation in found.contract_events for event in operation)
    events = [event for each in encoded if (event := decode_contract_event(each)) is not None]
    effects = decode_calls(terms.calls).effects_of(run.leg_index)
    judged = judge_effects(events, terms.account, effects)
    if isinstance(judged, EffectsMeasured):
        return list_changes(judged.changes)
    log.error("automation.alarm", alarm="automation_effects_differ", run=run.id)
    return ()
