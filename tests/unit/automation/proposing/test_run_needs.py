"""What an account must have for one run of a plan."""

from typing import Final

from farebox.automation.authority.plan_calls import ResolvedPlan, plan_calls
from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.plans.plan import run_effects, transactions_per_run
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.proposing.funds_check import run_needs
from farebox.kernel.addresses import Address
from support.payments import Json
from support.plans import DISBURSEMENT, OWNER, REBALANCE, TARGET, USDC, XLM, plan_of

_TOKENS: Final = (Address(USDC), Address(XLM))


def _calls(kind: str, body: Json) -> RunCalls:
    plan = plan_of(kind, body, OWNER)
    pools = dict.fromkeys((_TOKENS, _TOKENS[::-1]), Address(TARGET))
    resolved = ResolvedPlan(router=Address(TARGET), pools=pools)
    planned = plan_calls(plan, resolved, AuthorityMode.MANDATE)
    effects = tuple(run_effects(plan, leg) for leg in range(transactions_per_run(plan)))
    return RunCalls(planned, effects)


def test_disbursement_needs_the_sum_of_its_legs() -> None:
    debits, received = run_needs(_calls("disbursement", DISBURSEMENT))
    total = sum(int(leg["amount"]) for leg in DISBURSEMENT["legs"])
    assert (debits, received) == ({Address(DISBURSEMENT["token"]): total}, ())


def test_rebalance_needs_no_balance_of_a_token_and_receives_both() -> None:
    debits, received = run_needs(_calls("rebalance", REBALANCE))
    assert debits == {}
    assert set(received) == set(_TOKENS)
