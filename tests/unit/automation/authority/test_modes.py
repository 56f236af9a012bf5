"""Which mode acts for which plan and account."""

from typing import Final

import pytest

from farebox.automation.authority.modes import check_mode, check_presigned, choose_mode
from farebox.automation.authority.plan_calls import ResolvedPlan, plan_calls
from farebox.automation.limits import LIMITS
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.addresses import Address
from farebox.kernel.error_codes import ErrorCode
from support.payments import Json
from support.plans import (
    CALL,
    DCA,
    DISBURSEMENT,
    KEEPER,
    OWNER,
    PAIR,
    REBALANCE,
    ROUTER,
    TARGET,
    USDC,
    WALLET,
    XLM,
    changed,
    plan_of,
)
from support.table_rows import in_row

SESSION, MANDATE, PRESIGNED, OPEN = AuthorityMode
PLANS: Final[dict[str, tuple[str, Json]]] = {
    "call": ("contract_call", CALL),
    "keeper": ("contract_call", KEEPER),
    "dca": ("dca", DCA),
    "rebalance": ("rebalance", REBALANCE),
    "strategy": ("rebalance", changed(REBALANCE, strategy=TARGET)),
    "disbursement": ("disbursement", DISBURSEMENT),
}
# the modes that a smart account, and a classic one, may have
MODES: Final = {
    "call": ({SESSION, MANDATE, PRESIGNED}, {MANDATE, PRESIGNED}),
    "keeper": ({SESSION, MANDATE, PRESIGNED, OPEN}, {MANDATE, PRESIGNED, OPEN}),
    "dca": ({SESSION, MANDATE, PRESIGNED}, {MANDATE, PRESIGNED}),
    "rebalance": ({MANDATE}, {MANDATE}),
    "strategy": ({SESSION, MANDATE, PRESIGNED, OPEN}, {MANDATE, PRESIGNED, OPEN}),
    "disbursement": ({SESSION, MANDATE, PRESIGNED}, {MANDATE, PRESIGNED}),
}


@pytest.mark.parametrize("owner", [WALLET, OWNER])
@pytest.mark.parametrize("name", PLANS)
def test_mode_is_taken_when_it_can_bound_the_plan(name: str, owner: Address) -> None:
    plan, taken = plan_of(*PLANS[name]), MODES[name][owner is OWNER]
    for mode in taken:
        with in_row(mode):
            check_mode(plan, owner, mode)
    for mode in set(AuthorityMode) - taken:
        with in_row(mode):
            with pytest.raises(AutomationRefused) as refused:
                check_mode(plan, owner, mode)
            is_account_refused = mode is SESSION and owner is OWNER
            code = ErrorCode.UNSUPPORTED_ACCOUNT if is_account_refused else ErrorCode.SPEC_MISMATCH
            assert (refused.value.code, refused.value.field) == (code, "authorityMode")


@pytest.mark.parametrize("owner", [WALLET, OWNER])
@pytest.mark.parametrize("name", PLANS)
def test_mode_that_is_chosen_may_act(name: str, owner: Address) -> None:
    plan = plan_of(*PLANS[name])
    check_mode(plan, owner, choose_mode(plan, owner))


def test_mode_that_is_chosen_asks_for_no_more_than_is_needed() -> None:
    assert choose_mode(plan_of(*PLANS["keeper"]), WALLET) is OPEN
    assert choose_mode(plan_of(*PLANS["strategy"]), OWNER) is OPEN
    assert choose_mode(plan_of(*PLANS["dca"]), WALLET) is SESSION
    assert choose_mode(plan_of(*PLANS["dca"]), OWNER) is MANDATE


def test_entries_are_signed_ahead_up_to_their_limit() -> None:
    plan = plan_of("disbursement", DISBURSEMENT)
    calls = plan_calls(plan, ResolvedPlan(), PRESIGNED)
    check_presigned(plan, calls, 4, LIMITS)
    with pytest.raises(AutomationRefused) as refused:
        check_presigned(plan, calls, 5, LIMITS)
    assert (refused.value.code, refused.value.field) == (ErrorCode.LIMIT_EXCEEDED, "runLimit")


def test_entry_cannot_be_signed_ahead_when_a_run_chooses_a_value() -> None:
    plan = plan_of("dca", DCA)
    resolved = ResolvedPlan(router=ROUTER, pools={(USDC, XLM): PAIR})
    with pytest.raises(AutomationRefused) as refused:
        check_presigned(plan, plan_calls(plan, resolved, PRESIGNED), 1, LIMITS)
    assert "$deadline, $minOut" in refused.value.message
