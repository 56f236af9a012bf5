"""A dry run: the first run of a plan as of now, built and simulated as it will be, and not sent."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from farebox.automation.authority.ledger_bounds import AttemptBounds, bound_attempt
from farebox.automation.authority.stored_calls import RunCalls, decode_calls
from farebox.automation.execution.build_run import FEE_CEILING, RunNotBuilt
from farebox.automation.execution.check_condition import CheckBroken, ConditionFails
from farebox.automation.execution.code_pin import PinState, check_pin
from farebox.automation.execution.run_authority import (
    ONLY_TOO_EARLY,
    PreparedRun,
    RunNotPrepared,
)
from farebox.automation.lifecycle.lifecycle_network import LifecycleNetwork
from farebox.automation.lifecycle.presigned_entries import SignedEntry
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.proposing.first_run_trial import trial_run
from farebox.automation.proposing.preflight import require
from farebox.automation.refusal import AutomationRefused, NetworkUnavailable
from farebox.automation.runs.materialise import find_next
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run import Run
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.simulation import RefusalKind
from farebox.stellar.transactions import AuthorizedCall
from farebox.storage.pool import Database

_OF_THE_ENTRY: Final = {
    RefusalKind.NONCE_USED.value: "Its nonce has been used.",
    RefusalKind.EXPIRED.value: "It expires later than the network allows, or has expired.",
    RefusalKind.SIGNATURE.value: "The network does not accept its signatures for the account.",
}


class GivenEntries:
    """The authority of entries that are not stored yet, as `RunAuthority` has it."""

    def __init__(self, entries: Sequence[SignedEntry]) -> None:
        self._entries = {each.place: each.entry for each in entries}

    async def prepare(
        self, terms: PlanTerms, calls: RunCalls, run: Run, now: LedgerReading
    ) -> PreparedRun | RunNotPrepared:
        """See `RunAuthority`."""
        entry = self._entries.get((run.run_index, run.leg_index))
        if entry is None:
            return RunNotPrepared(ErrorClass.SESSION, "entry_missing")
        last = entry.expires_at_ledger
        bounds = bound_attempt(now, deadline=run.deadline_at, end_ledger=last)
        until = AttemptBounds(bounds.max_time, bounds.max_ledger, last)
        call = AuthorizedCall(entry.root_call, (entry,))
        return PreparedRun(call, until, terms.account, nonce=entry.nonce)


class DryRun:
    """Holds a plan against its network before it is activated or resumed.

    `database` has the runs that were made: the next one is tried.
    """

    def __init__(self, network: LifecycleNetwork, database: Database) -> None:
        self._network, self._database = network, database

    async def check_plan(self, plan: StoredPlan, now: datetime) -> None:
        """Check all that can be checked of a plan before something is installed for it.

        Raises:
            AutomationRefused: `preflight_failed` or `fee_ceiling`.
            NetworkUnavailable: no node answers.
        """
        async with self._network.availability.reading():
            report = await self._network.preflight.judge(plan, now)
        require(report)

    async def check_code(self, terms: PlanTerms) -> bool:
        """Whether the target has the code that was pinned at the proposal.

        Raises:
            NetworkUnavailable: no node answers.
        """
        target = decode_calls(terms.calls).planned.calls[0].allowed.contract
        pin = await check_pin(self._network.ledger, terms, target)
        if pin is PinState.UNKNOWN:
            raise NetworkUnavailable
        return pin is PinState.HOLDS

    async def check_run(self, terms: PlanTerms, *, at: datetime) -> None:
        """Check that the next run would succeed now; one whose condition says no is not simulated.

        What is installed and may not be used yet was tried before it was installed.

        Raises:
            AutomationRefused: `preflight_failed` or `fee_ceiling`.
            NetworkUnavailable: no node answers.
        """
        calls = decode_calls(terms.calls)
        if calls.check is not None:
            answer = await self._network.check.ask(calls.check, terms.owner)
            if isinstance(answer, CheckBroken):
                raise _refusal(answer.error, answer.code)
            if isinstance(answer, ConditionFails):
                return
        async with self._database.connection() as db:
            following = await find_next(db, terms, at)
        if following is None:
            raise _refusal(ErrorClass.PROGRAM, "no_run_is_due")
        trial = trial_run(terms, following.place, at)
        built = await self._network.builder.build(terms, calls, trial)
        if isinstance(built, RunNotBuilt) and built.code not in ONLY_TOO_EARLY:
            raise _refusal(built.error, built.code)

    async def check_entries(
        self, terms: PlanTerms, entries: Sequence[SignedEntry], *, at: datetime
    ) -> None:
        """Check that the network accepts every entry, and that the first run would succeed now.

        What a later run would fail with now, apart from its authorization, is no reason against it.

        Raises:
            AutomationRefused: `session_mismatch` with the member, or as `check_run`.
        """
        given = GivenEntries(entries)
        builder = self._network.builder.with_authority(AuthorityMode.PRESIGNED, given)
        calls = decode_calls(terms.calls)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(builder.build(terms, calls, trial_run(terms, each.place, at)))
                    for each in entries
                ]
        except* RpcUnavailable:
            raise NetworkUnavailable from None
        for each, task in zip(entries, tasks, strict=True):
            built = task.result()
            if not isinstance(built, RunNotBuilt):
                continue
            fault = _OF_THE_ENTRY.get(built.code)
            if fault is not None:
                raise AutomationRefused(ErrorCode.SESSION_MISMATCH, fault, field=each.member)
            if each.place == (0, 0) or built.error is ErrorClass.TRANSPORT:
                raise _refusal(built.error, built.code)


def _refusal(error: ErrorClass, code: str) -> Refusal:
    if error is ErrorClass.TRANSPORT:
        return NetworkUnavailable()
    if code == FEE_CEILING:
        return AutomationRefused(ErrorCode.FEE_CEILING, ErrorCode.FEE_CEILING.sentence)
    why = f"The first run would fail as of now: {code} ({error})."
    return AutomationRefused(ErrorCode.PREFLIGHT_FAILED, why)
