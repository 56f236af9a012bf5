"""The `SessionSpec` of a plan: its calls, its caps, its window, and how often it may be used."""

from farebox.automation.authority.planned_calls import PlannedCalls
from farebox.automation.plan_window import PlanWindow
from farebox.automation.plans.plan import DisbursementPlan, Plan, authorization_limit
from farebox.automation.plans.session_spec import AuthorityMode, SessionSpec, check_spec
from farebox.automation.plans.wire import DisbursementMode
from farebox.kernel.addresses import Address


def build_spec(
    plan: Plan,
    planned: PlannedCalls,
    *,
    account: Address,
    mode: AuthorityMode,
    delegate: bytes,
    window: PlanWindow,
    interval_s: int,
    runs: int,
) -> SessionSpec:
    """The spec of a plan of `account` for so many runs; `delegate` is a public key (32 bytes).

    The window's end counts as its whole second, so that no run at the end is refused.

    Raises:
        AutomationRefused: the contracts would refuse the spec.
    """
    not_before = int(window.not_before.timestamp())
    not_after = -int(-window.not_after.timestamp() // 1)
    if isinstance(plan, DisbursementPlan) and plan.mode is DisbursementMode.ONCE:
        interval_s = not_after - not_before + 1  # no row is used a second time
    spec = SessionSpec(
        account=account,
        mode=mode,
        delegate=delegate,
        calls=planned.allowed,
        caps=planned.caps(runs),
        interval_s=interval_s,
        max_uses=authorization_limit(plan, runs),
        not_before=not_before,
        not_after=not_after,
    )
    check_spec(spec)
    return spec
