"""Which mode may act for a plan (2.1): by its account, its kind, and what its runs choose."""

from farebox.automation.authority.planned_calls import PlannedCalls
from farebox.automation.limits import AutomationLimits
from farebox.automation.plans.call_check import RunValue, RunValueKind
from farebox.automation.plans.plan import ContractCallPlan, Plan, RebalancePlan, authorization_limit
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.refusal import AutomationRefused, limit_exceeded, spec_mismatch
from farebox.kernel.addresses import Address, is_account
from farebox.kernel.error_codes import ErrorCode

_KNOWN_WHEN_SIGNED = frozenset((RunValueKind.ACTOR, RunValueKind.RUN_INDEX, RunValueKind.ROW))


def choose_mode(plan: Plan, account: Address) -> AuthorityMode:
    """The mode of a plan whose owner names none: the one that bounds it best.

    A target of the convention holds its own authority and is `open`.
    """
    if isinstance(plan, ContractCallPlan) and plan.function is None and not plan.effects.max_debit:
        return AuthorityMode.OPEN
    if isinstance(plan, RebalancePlan):
        return AuthorityMode.MANDATE if plan.strategy is None else AuthorityMode.OPEN
    return AuthorityMode.MANDATE if is_account(account) else AuthorityMode.SESSION


def check_mode(plan: Plan, account: Address, mode: AuthorityMode) -> None:
    """Check that a mode can act for the account, and bounds the plan.

    Raises:
        AutomationRefused: `unsupported_account` or `spec_mismatch`.
    """
    if mode is AuthorityMode.SESSION and is_account(account):
        why = "A session is installed on a smart account (C…): a G… account takes a mandate."
        raise AutomationRefused(ErrorCode.UNSUPPORTED_ACCOUNT, why, field="authorityMode")
    is_open = mode is AuthorityMode.OPEN
    is_public = isinstance(plan, ContractCallPlan) and not plan.effects.max_debit
    has_strategy = isinstance(plan, RebalancePlan) and plan.strategy is not None
    if is_open and not (is_public or has_strategy):
        raise spec_mismatch("authorityMode", "It cannot move the account's tokens.")
    is_static = mode in (AuthorityMode.SESSION, AuthorityMode.PRESIGNED)
    if is_static and isinstance(plan, RebalancePlan) and not has_strategy:
        raise spec_mismatch(
            "authorityMode", "The amounts of a rebalance differ: name a strategy, or use a mandate."
        )


def check_presigned(plan: Plan, planned: PlannedCalls, runs: int, limits: AutomationLimits) -> None:
    """Check that every entry of a pre-signed plan is known when it is signed.

    Raises:
        AutomationRefused: `limit_exceeded` or `spec_mismatch`.
    """
    entries = authorization_limit(plan, runs)
    if entries > limits.presigned_entries:
        why = f"At most {limits.presigned_entries} entries are signed ahead: this needs {entries}."
        raise limit_exceeded("runLimit", why)
    chosen = {
        value.kind
        for call in planned.calls
        for value in call.values
        if isinstance(value, RunValue) and value.kind not in _KNOWN_WHEN_SIGNED
    }
    if chosen:
        names = ", ".join(sorted(chosen))
        raise spec_mismatch(
            "authorityMode", f"A signed entry fixes every argument, and a run chooses {names}."
        )
