"""The preflight of a plan: what stands in the way of its first run, as of the newest ledger.

It also tells authors of contracts which rules of the convention (3.14) theirs breaks.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final, Protocol

from farebox.automation.authority.stored_calls import RunCalls, decode_calls
from farebox.automation.execution.check_condition import (
    CheckBroken,
    ConditionCheck,
    ConditionFails,
)
from farebox.automation.execution.code_pin import PinState, check_pin
from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.execution.simulate_run import UNREAD
from farebox.automation.execution.sponsorship import SponsoredRefused, SponsoredUnavailable
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import TIME_TO_START, PlanTerms, StoredPlan
from farebox.automation.proposing.first_run_trial import DryRunResult, FirstRunTrial
from farebox.automation.proposing.funds_check import FundsCheck
from farebox.automation.proposing.preflight_report import PlanCheck, PreflightReport, failed, passed
from farebox.automation.refusal import AutomationRefused
from farebox.automation.runs.materialise import find_next
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.runs.run_journal import RunJournal
from farebox.automation.schedules.schedule import ConditionSchedule
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.networks import Network
from farebox.stellar.rpc import RpcUnavailable
from farebox.storage.pool import Database

_INSTALL_FEE: Final = "installation_fee"
_FEES: Final = frozenset((ErrorCode.FEE_CEILING, _INSTALL_FEE))
_BROKEN: Final = {
    "check_failed": "It fails; a check that fails is an error, and never a no.",
    "check_too_expensive": "It does not end within 20,000,000 instructions.",
    "check_timeout": "It does not end within five seconds.",
    "check_changes_state": "It changes the ledger; a check only reads.",
    "check_not_boolean": "It returns no boolean.",
}


class InstallCosts(Protocol):
    """Tells what the installation of plans costs, and what refuses it."""

    async def read(
        self, plan: StoredPlan
    ) -> Stroops | SponsoredRefused | SponsoredUnavailable | None:
        """The most that the installation of a plan that is not paid costs; None without one.

        Raises:
            Outage: the network cannot be read now.
        """
        ...


@dataclass(frozen=True, slots=True)
class PreflightParts:
    """What the preflights of one network use; `database` has the runs that were made."""

    ledger: EntryReader
    condition: ConditionCheck
    funds: FundsCheck
    dry_run: FirstRunTrial
    installs: InstallCosts
    database: Database
    journal: RunJournal


class Preflight:
    """Judges plans of one network; nothing is written.

    What it does not pass is not sold, and nothing of it is installed.
    """

    def __init__(self, network: Network, parts: PreflightParts) -> None:
        self._network, self._parts = network, parts

    async def judge(self, plan: StoredPlan, now: datetime) -> PreflightReport:
        """Judge a plan as of the newest ledger.

        Raises:
            Outage: the network cannot be read now.
        """
        terms, calls = plan.terms, decode_calls(plan.terms.calls)
        is_due, first_at = await self._find_due(plan, now)
        checks = [is_due, await self._check_code(terms, calls)]
        if terms.account is not None:
            moves = terms.mode is not AuthorityMode.OPEN
            checks += await self._parts.funds.check(terms.account, calls, moves=moves)
        says_no = False
        if calls.check is not None:
            check, says_no = await self._ask(calls.check, terms.owner)
            checks.append(check)
        if says_no:
            detail = "Not tried: the contract says that a run now would do nothing."
            tried = DryRunResult((passed("dry_run", detail),))
        else:
            tried = await self._parts.dry_run.try_first(plan, now)
        install, installing = _judge_install(await self._parts.installs.read(plan))
        budget = await self._judge_budget(terms, tried.fee, now, first_at)
        return PreflightReport(
            (*checks, *tried.checks, *installing, *budget),
            tried.fee,
            first_at,
            tried.changes,
            install,
            tried.is_whole,
        )

    async def _find_due(self, plan: StoredPlan, now: datetime) -> tuple[PlanCheck, datetime | None]:
        """Whether a run is still due, of an unpaid plan once it is paid and activated; and when.

        That of a condition is not known.
        """
        terms, is_unpaid = plan.terms, plan.state is ProposalState.PROPOSED
        async with self._parts.database.connection() as db:
            following = await find_next(db, terms, now)
            due = await find_next(db, terms, now + TIME_TO_START) if is_unpaid else following
        is_timed = following is not None and not isinstance(terms.schedule, ConditionSchedule)
        first_at = following.scheduled_for if following is not None and is_timed else None
        if due is not None:
            return passed("schedule", "A run is due while the plan lives."), first_at
        detail = "No run is due any more once the plan is paid and activated."
        return failed("schedule", detail), first_at

    async def _judge_budget(
        self, terms: PlanTerms, fee: Stroops | None, now: datetime, first_at: datetime | None
    ) -> tuple[PlanCheck, ...]:
        """Whether the first run would be missed because a budget of this UTC day is used up.

        One that may land after midnight waits for the next day's.
        """
        midnight = datetime.combine(now.astimezone(UTC), time(), UTC) + timedelta(days=1)
        if fee is None or (first_at or now) + terms.rule.lateness >= midnight:
            return ()
        used_up = await self._parts.journal.find_used_up(terms, fee, on=now.astimezone(UTC).date())
        if used_up is None:
            return ()
        detail = (
            f"The service pays for no such run before {midnight:%Y-%m-%dT%H:%M:%SZ}: {used_up}."
        )
        return (failed("budget", detail),)

    async def _check_code(self, terms: PlanTerms, calls: RunCalls) -> PlanCheck:
        target = calls.planned.calls[0].allowed.contract
        state = await check_pin(self._parts.ledger, terms, target)
        if state is PinState.UNKNOWN:
            raise self._unavailable()
        is_same = state is PinState.HOLDS
        words = "has" if is_same else "no longer has"
        detail = f"The contract {target} {words} the code that was agreed."
        return PlanCheck("code_unchanged", is_same, detail)

    async def _ask(self, target: Address, owner: OwnerId) -> tuple[PlanCheck, bool]:
        """The check of a target, and whether it says no."""
        answer = await self._parts.condition.ask(target, owner)
        if isinstance(answer, CheckBroken):
            if answer.error is ErrorClass.TRANSPORT and answer.code in UNREAD:
                raise self._unavailable()
            detail = f"autolayer_check of {target}: {_BROKEN.get(answer.code, answer.code)}"
            return failed(answer.code, detail), False
        says_no = isinstance(answer, ConditionFails)
        words = "nothing" if says_no else "something"
        return passed("check_answers", f"A run now would do {words}."), says_no

    def _unavailable(self) -> RpcUnavailable:
        text = f"{self._network} cannot be read now"
        return RpcUnavailable(self._network, text, certainly_not_sent=True)


def require(report: PreflightReport) -> None:
    """Return if a plan passes its preflight.

    Raises:
        AutomationRefused: `fee_ceiling` or `preflight_failed`, with the first check that fails.
    """
    broken = next((check for check in report.checks if not check.is_ok), None)
    if broken is not None:
        is_fee = broken.code in _FEES
        code = ErrorCode.FEE_CEILING if is_fee else ErrorCode.PREFLIGHT_FAILED
        raise AutomationRefused(code, f"{broken.detail} ({broken.code})")


def _judge_install(
    found: Stroops | SponsoredRefused | SponsoredUnavailable | None,
) -> tuple[Stroops | None, tuple[PlanCheck, ...]]:
    match found:
        case None:
            return None, ()
        case SponsoredRefused(code):
            return None, (failed("installation", f"The installation fails as of now: {code}."),)
        case SponsoredUnavailable():
            detail = "The installation costs more than the operator allows one transaction."
            return None, (failed(_INSTALL_FEE, detail),)
        case int():
            detail = f"The installation costs {found} stroops at most."
            return Stroops(found), (passed("installation", detail),)
