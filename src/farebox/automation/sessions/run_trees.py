"""The tree of calls of one run: its values are chosen, and what is nested below is learnt."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from farebox.automation.authority.planned_calls import (
    RunContext,
    ValueMissing,
    resolve,
    resolve_recorded,
)
from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.execution.record_nested import (
    RecordingFailed,
    nested_amounts,
    record_tree,
)
from farebox.automation.execution.run_authority import (
    INTERVAL_NOT_PASSED,
    TOO_EARLY,
    RunNotPrepared,
)
from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.plans.session_spec import SessionSpec
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.plans.wire import PlanKind
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.automation.sessions.contract_reads import ReadRefused
from farebox.automation.sessions.run_choice import RunChooser
from farebox.automation.sessions.session_uses import SessionUses
from farebox.kernel.addresses import Address
from farebox.stellar.invocations import Invocation
from farebox.stellar.ledger_clock import LedgerReading


@dataclass(frozen=True, slots=True)
class ChosenRun:
    """The tree of a run, and the index of its root call in the spec."""

    tree: Invocation
    root: int


class RunTrees:
    """Makes the trees of runs; each kind of plan has its chooser."""

    def __init__(self, simulator: RunSimulator, choosers: Mapping[PlanKind, RunChooser]) -> None:
        self._simulator, self._choosers = simulator, choosers

    async def make(
        self, terms: PlanTerms, calls: RunCalls, run: Run, now: LedgerReading, *, actor: Address
    ) -> ChosenRun | RunNotPrepared:
        """Make the tree of a run whose calls `actor` makes: the account, or its mandate.

        Raises:
            RpcUnavailable: no node answers.
            DatabaseUnavailable: the plan cannot be read.
        """
        try:
            choice = await self._choosers[terms.kind].choose(terms, calls, now)
            if isinstance(choice, RunNotPrepared):
                return choice
            context = RunContext(
                actor=actor,
                run_index=run.run_index,
                ledger_time=int(now.close_at.timestamp()),
                root=choice.root,
                row=run.leg_index,
                min_out=choice.min_out,
                amount=choice.amount,
            )
            return ChosenRun(await self._nest(terms, calls, context), choice.root)
        except ReadRefused as failed:
            return RunNotPrepared(failed.error, failed.code)
        except RecordingFailed as failed:
            return RunNotPrepared(failed.error, "recording_failed")
        except ValueMissing:
            return RunNotPrepared(ErrorClass.PROGRAM, "value_missing")

    async def _nest(self, terms: PlanTerms, calls: RunCalls, context: RunContext) -> Invocation:
        """The tree; a mandate's run is recorded as if its owner made it, who has the tokens."""
        planned, account = calls.planned, terms.account
        if not planned.needs_recording or account is None:
            return resolve(planned, context)
        bare = resolve_recorded(planned, replace(context, actor=account), {})
        tree = await record_tree(self._simulator, bare, account, terms.owner)
        if context.actor == account:
            return tree
        amounts = nested_amounts(planned, tree, root=context.root)
        return resolve_recorded(planned, context, amounts)


def judge_uses(
    spec: SessionSpec, uses: SessionUses, *, ledger_time: int, slot: tuple[int, int] | None = None
) -> RunNotPrepared | None:
    """Why the contracts would refuse a run now by its time or number; None where they would not.

    `slot` is the index of the root call and its row, once they are chosen.
    """
    if uses.is_used_up(spec):
        return RunNotPrepared(ErrorClass.SESSION, "session_used_up")
    if ledger_time > spec.not_after:
        return RunNotPrepared(ErrorClass.SESSION, "session_expired")
    if ledger_time < spec.not_before:
        return RunNotPrepared(ErrorClass.DEADLINE, TOO_EARLY)
    if slot is None:
        return None
    root, row = slot
    if uses.is_too_early(spec, root=root, row=row, ledger_time=ledger_time):
        return RunNotPrepared(ErrorClass.DEADLINE, INTERVAL_NOT_PASSED)
    return None
