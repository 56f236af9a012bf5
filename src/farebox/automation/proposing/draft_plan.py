"""Draft a plan from a request: its owner, its times, its calls and its mode (3.3, 3.4)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from farebox.automation.authority.ledger_bounds import default_horizon
from farebox.automation.authority.modes import check_mode, check_presigned, choose_mode
from farebox.automation.authority.plan_calls import plan_calls
from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.execution.longest_life import LongestLife
from farebox.automation.limits import AutomationLimits
from farebox.automation.plans.plan import (
    Plan,
    run_effects,
    transactions_per_run,
)
from farebox.automation.plans.plan_rules import check_run_limit, read_plan
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.proposing.drafted_plan import DraftedPlan
from farebox.automation.proposing.plan_resolution import PlanResolution, check_receivers
from farebox.automation.proposing.run_times import time_runs
from farebox.automation.proposing.signed_ahead import SignedAheadCalls
from farebox.automation.proposing.wire import ProposeRequest
from farebox.automation.refusal import AutomationRefused, limit_exceeded
from farebox.automation.schedules.check_schedule import CheckedSchedule, check_schedule
from farebox.automation.schedules.schedule import OnceSchedule
from farebox.kernel.addresses import Address, parse_party
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import Caller
from farebox.kernel.error_codes import ErrorCode
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.signers import OperatorAddresses

_AFTER_ONCE: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class PlanOwner:
    """Whose plan it is: `account` is the caller's wallet, None for an operator.

    `actor` is the account, or the executor of open plans where there is none.
    """

    caller: Caller
    account: Address | None
    actor: Address


class PlanDrafting:
    """Drafts plans of one network.

    `executor` makes the calls of open plans, `highest_fee` is the operator's limit for one
    transaction of a run.
    """

    def __init__(
        self,
        resolution: PlanResolution,
        signed_ahead: SignedAheadCalls,
        operators: OperatorAddresses,
        limits: AutomationLimits,
        life: LongestLife,
        *,
        ledger_now: Callable[[], LedgerReading],
        executor: Address,
        highest_fee: Stroops,
    ) -> None:
        self._resolution, self._signed_ahead = resolution, signed_ahead
        self._operators, self._limits = operators, limits
        self._life, self._ledger_now = life, ledger_now
        self._executor, self._highest_fee = executor, highest_fee

    async def draft(self, caller: Caller, request: ProposeRequest, *, now: datetime) -> DraftedPlan:
        """Draft a plan of the caller.

        Raises:
            AutomationRefused: a rule refuses it, with the member.
            Outage: the network cannot be read now.
        """
        owner = self._find_owner(caller, request)
        plan = read_plan(request.spec, owner.actor, self._limits)
        check_receivers(plan, tuple(self._operators.addresses))
        mode = self._choose_mode(plan, owner, request.authority_mode)
        timed = _check_timing(plan, request, now, await self._limits_of(request, mode))
        calls, pin = await self._find_calls(plan, owner, timed, mode, request.run_limit)
        times = time_runs(plan, request, timed, now=now)
        return DraftedPlan(
            owner=caller.owner,
            network=request.network,
            account=owner.account,
            actor=self._executor if mode is AuthorityMode.OPEN else owner.actor,
            title=request.title,
            mode=mode,
            plan=plan,
            spec=request.spec,
            calls=calls,
            schedule=timed.schedule,
            window=timed.window,
            rule=times.rule,
            session_interval_s=times.interval_s,
            run_limit=request.run_limit,
            max_fee=self._choose_fee(request),
            target_wasm_hash=pin,
        )

    def _find_owner(self, caller: Caller, request: ProposeRequest) -> PlanOwner:
        """The owner; the account of a plan is the caller's own wallet."""
        account = None if caller.address is None else parse_party(caller.address)
        if request.account is not None and request.account != account:
            sentence = ErrorCode.ACCOUNT_NOT_PROVEN.sentence
            raise AutomationRefused(ErrorCode.ACCOUNT_NOT_PROVEN, sentence)
        return PlanOwner(caller, account, self._executor if account is None else account)

    async def _limits_of(self, request: ProposeRequest, mode: AuthorityMode) -> AutomationLimits:
        """The limits; a plan without an end, whose owner signs, ends while signatures can live."""
        if request.expires_at is not None or mode is AuthorityMode.OPEN:
            return self._limits
        longest = default_horizon(self._ledger_now(), max_entry_ttl=await self._life.ledgers())
        return replace(self._limits, horizon=min(self._limits.horizon, longest))

    def _choose_mode(
        self, plan: Plan, owner: PlanOwner, wanted: AuthorityMode | None
    ) -> AuthorityMode:
        if owner.account is None:
            if wanted not in (None, AuthorityMode.OPEN):
                why = "An operator has no account: its plans are open."
                raise AutomationRefused(ErrorCode.UNSUPPORTED_ACCOUNT, why, field="authorityMode")
            wanted = AuthorityMode.OPEN
        mode = choose_mode(plan, owner.actor) if wanted is None else wanted
        check_mode(plan, owner.actor, mode)
        return mode

    async def _find_calls(
        self,
        plan: Plan,
        owner: PlanOwner,
        timed: CheckedSchedule,
        mode: AuthorityMode,
        runs: int,
    ) -> tuple[RunCalls, bytes | None]:
        found = await self._resolution.find(plan, timed.schedule)
        planned = plan_calls(plan, found.resolved, mode)
        if mode is AuthorityMode.PRESIGNED:
            planned = await self._signed_ahead.fix(planned, owner.actor, owner.caller.owner)
            check_presigned(plan, planned, runs, self._limits)
        effects = tuple(run_effects(plan, leg) for leg in range(transactions_per_run(plan)))
        pin = await self._resolution.pin(planned.calls[0].allowed.contract)
        return RunCalls(planned, effects, found.check), pin

    def _choose_fee(self, request: ProposeRequest) -> Stroops:
        if request.max_fee_stroops is None:
            return self._highest_fee
        fee = int(request.max_fee_stroops)
        if fee > self._highest_fee:
            why = f"The service pays {self._highest_fee} stroops a transaction at most."
            raise limit_exceeded("maxFeeStroops", why)
        return Stroops(fee)


def _check_timing(
    plan: Plan, request: ProposeRequest, now: datetime, limits: AutomationLimits
) -> CheckedSchedule:
    check_run_limit(plan, request.run_limit, limits)
    timed = check_schedule(
        request.schedule,
        now=now,
        expires_at=_choose_end(request, now, limits),
        limits=limits,
        starts_at=request.starts_at,
    )
    if isinstance(timed.schedule, OnceSchedule) and request.run_limit > 1:
        raise limit_exceeded("runLimit", "A schedule that is due once has one run.")
    return timed


def _choose_end(
    request: ProposeRequest, now: datetime, limits: AutomationLimits
) -> datetime | None:
    """The wished end of a plan; one that runs once and names none lives a week longer."""
    schedule = request.schedule
    if request.expires_at is None and isinstance(schedule, OnceSchedule):
        latest = now + limits.horizon
        return min(latest, schedule.at + _AFTER_ONCE) if now < schedule.at < latest else None
    return request.expires_at
