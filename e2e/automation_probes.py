"""The plans of one case: one lives its life, the others are used past the service alone.

`probe` has uses left whenever it is tried, `spent` has used all of its own. Their first due time is
far away, so that the service makes no run of theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from stellar_sdk import scval
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import GetTransactionStatus

from e2e.automation_calls import Delegate, made_run, run_of_entry, with_run
from e2e.automation_life import ActivePlan
from e2e.automation_twins import CONTENT, Change, Verdict, changed_run, judge
from farebox.automation.plans.wire import PlanKind
from testing.automation_cases import LEGS, OPEN, PRESIGNED, Case, Place
from testing.automation_chain import AutomationChain, Resources
from testing.contracts import Entry, call
from testing.machine import RunFailed

_FIRST: Final = 1  # of the indexes that a mandate's runs have
_USED: Final = -2  # of the entries signed ahead: of the first leg of the last run
_KEPT: Final = -1  # used by nobody
_LATER: Final = 1_000  # above every index that the service uses


@dataclass(slots=True)
class CasePlans:
    """The plans of a case, and what the chain did with their twins."""

    case: Case
    chain: AutomationChain
    place: Place
    life: ActivePlan
    lived: Delegate | None = None
    probe: Delegate | None = None
    spent: Delegate | None = None
    like: Resources | None = None  # of a run that passed
    controls: int = 0
    verdicts: list[Verdict] = field(default_factory=list)

    async def try_contents(self) -> None:
        """The twins of a run's content, right after a control."""
        if self.case.mode is OPEN:
            return
        if self.case.mode is PRESIGNED:
            raw = self.life.entries[_USED]
            entry = run_of_entry(Entry.from_xdr(raw))
            await self._pass(with_run(raw, entry))
            for change in CONTENT:
                await self._twin(
                    change, with_run(raw, changed_run(self.case, change, entry, self.place))
                )
            return
        await self._pass(await self._run(self.probe, _FIRST))
        for change in CONTENT:
            await self._twin(change, await self._run(self.probe, _FIRST, change=change))

    async def try_use(self) -> None:
        """A run lands, and at once a second one is too early or its signature used."""
        if self.case.mode is PRESIGNED:
            used = self._signed(_USED)
            await self._land(used)
            await self._twin(Change.ONCE_TOO_OFTEN, used)
            return
        if self.case.mode is OPEN:
            await self._land(self._keeper_run())
            await self._twin(Change.TOO_EARLY, self._keeper_run())
            return
        await self._land(await self._run(self.probe, _FIRST))
        await self._twin(Change.TOO_EARLY, await self._run(self.probe, _FIRST + 1))
        for row in range(self._rows()):
            await self._land(await self._run(self.spent, _FIRST + row, row=row))

    async def try_again(self) -> None:
        """The interval has passed: a run passes, but none of a used-up or closed session."""
        if self.case.mode is PRESIGNED:
            return
        if self.case.mode is OPEN:
            await self._pass(self._keeper_run())
            arranged = call(self.place.keeper, "arrange", [scval.to_bool(False)])
            await self.chain.land(arranged)
            await self._twin(Change.AFTER_CLOSING, self._keeper_run())
            return
        await self._pass(await self._run(self.probe, _FIRST + 1))
        often = await self._run(self.spent, _FIRST + self._rows())
        await self._twin(Change.ONCE_TOO_OFTEN, often)
        await self._twin(Change.AFTER_CLOSING, await self._run(self.lived, _LATER))

    async def before_expiry(self) -> None:
        """The last control before the end: what is tried after it passes now."""
        if self.case.mode is PRESIGNED:
            await self._pass(self._signed(_KEPT))
        elif self.case.has_delegate:
            await self._pass(await self._run(self.probe, _FIRST + 1))

    async def try_late(self) -> None:
        """The plan's end, or a signature's last ledger, has passed."""
        if self.case.mode is PRESIGNED:
            await self._twin(Change.AFTER_EXPIRY, self._signed(_KEPT))
        elif self.case.has_delegate:
            await self._twin(Change.AFTER_EXPIRY, await self._run(self.probe, _FIRST + 1))

    async def _run(
        self, delegate: Delegate | None, index: int, *, row: int = 0, change: Change | None = None
    ) -> Operation:
        """A run that a delegate signs now."""
        if delegate is None:
            raise RunFailed(f"{self.case.name}: a plan past the service is not open")
        now = await self.chain.now()
        run = made_run(self.case, self.place, delegate.actor, now=now, row=row)
        if change is not None:
            run = changed_run(self.case, change, run, self.place)
        return delegate.operation(run, index=index, ledger=await self.chain.ledger())

    def _signed(self, number: int) -> Operation:
        """The run of an entry that was signed ahead."""
        raw = self.life.entries[number]
        return with_run(raw, run_of_entry(Entry.from_xdr(raw)))

    def _keeper_run(self) -> Operation:
        executor = scval.to_address(self.place.stranger)
        return call(self.place.keeper, "autolayer_run", [executor])

    def _rows(self) -> int:
        return len(LEGS) if self.case.kind is PlanKind.DISBURSEMENT else 1

    async def _pass(self, operation: Operation) -> None:
        """A control: the chain would let this run pass now."""
        needed = await self.chain.resources(operation)
        if not isinstance(needed, Resources):
            said = needed.replace("\n", " ")[:400]
            raise RunFailed(f"{self.case.name}: a control is refused: {said}")
        self.like = needed
        self.controls += 1

    async def _land(self, operation: Operation) -> None:
        """A control that lands."""
        await self._pass(operation)
        if self.like is None:
            return
        status = await self.chain.land_with(operation, self.like)
        if status is not GetTransactionStatus.SUCCESS:
            raise RunFailed(f"{self.case.name}: a control ended with {status}")

    async def _twin(self, change: Change, twin: Operation) -> None:
        if self.like is None:
            raise RunFailed(f"{self.case.name}: {change} has no control")
        verdict = await judge(self.chain, self.case, change, twin, self.like)
        self.verdicts.append(verdict)


def count_refused(plans: Sequence[CasePlans]) -> tuple[int, int]:
    """How many twins there were, and how many of them the chain refused for the right reason."""
    verdicts = [each for plan in plans for each in plan.verdicts]
    return len(verdicts), sum(not each.fault for each in verdicts)
