"""What a run chooses by itself: its root call, the amount of a trade, and the least it must get."""

from dataclasses import dataclass
from typing import Protocol

from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.execution.run_authority import RunNotPrepared
from farebox.automation.plans.call_check import RunValue, RunValueKind
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.retries import ErrorClass
from farebox.stellar.ledger_clock import LedgerReading


@dataclass(frozen=True, slots=True)
class RunChoice:
    """The index of the root call, and the values that the run passes; None where it needs none."""

    root: int = 0
    amount: int | None = None
    min_out: int | None = None


class RunChooser(Protocol):
    """Chooses the values of runs of one kind of plan."""

    async def choose(
        self, terms: PlanTerms, calls: RunCalls, now: LedgerReading
    ) -> RunChoice | RunNotPrepared:
        """Choose for a run that is made now.

        Raises:
            RpcUnavailable: no node answers.
            DatabaseUnavailable: the plan cannot be read.
        """
        ...


class DeclaredChoice:
    """The least that a run gets is what its plan declares."""

    async def choose(
        self, terms: PlanTerms, calls: RunCalls, now: LedgerReading
    ) -> RunChoice | RunNotPrepared:
        """See `RunChooser`."""
        root = calls.planned.calls[0]
        wants = {value.kind for value in root.values if isinstance(value, RunValue)}
        if RunValueKind.MIN_OUT not in wants:
            return RunChoice()
        credits_ = calls.effects_of(0).min_credit
        if len(credits_) != 1:
            return RunNotPrepared(ErrorClass.PROGRAM, "value_missing")
        return RunChoice(min_out=credits_[0].amount)
