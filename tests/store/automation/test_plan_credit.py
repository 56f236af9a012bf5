"""What a plan holds of its owner's money, and spends at its own price."""

from dataclasses import replace
from datetime import timedelta

import pytest

from farebox.automation.credits import credit_payment
from farebox.automation.credits.run_payment import RunPayment, make_sale
from farebox.automation.plans import proposal_store
from farebox.automation.plans.plan_credit import PlanCredit
from farebox.automation.plans.proposal_state import ProposalTrigger
from farebox.automation.plans.quote import FreshFees
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.automation import PlanDraft, draft_plan, move, put_plan, read_plan
from support.journal_rows import party
from support.manual_clock import START
from support.run_payments import (
    FEE,
    PER_RUN,
    PRICES,
    REVENUE,
    SALES,
    balance,
    hash_of,
    land,
    propose,
    quote_of,
)


async def pay(
    database: Database,
    plan: StoredPlan,
    *,
    runs: int,
    fee: int = FEE,
    is_top_up: bool = False,
    install: int | None = None,
) -> RunPayment:
    """Pay for runs at a price of this fee; the payment."""
    fresh = FreshFees(Stroops(fee), None if install is None else Stroops(install))
    now = START + timedelta(hours=1)  # the first quote has expired
    quote = await quote_of(database, plan, runs=runs, is_top_up=is_top_up, fresh=fresh, now=now)
    held = await land(database, quote, at=now)
    async with database.transaction() as db:
        return await credit_payment.credit_payment(db, held, hash_of(held), at=now)


async def put(database: Database, draft: PlanDraft) -> StoredPlan:
    async with database.transaction() as db:
        return await put_plan(db, draft)


async def credit_of(database: Database, plan: StoredPlan) -> PlanCredit:
    return (await read_plan(database, plan)).counters.credit


async def test_cheap_runs_that_are_cancelled_do_not_pay_for_dear_ones(database: Database) -> None:
    """A hundred runs of one transaction, and a plan of the same owner with 32 dear ones a run."""
    cheap = await put(database, draft_plan().but(run_limit=100, auth_limit=100))
    paid = await pay(database, cheap, runs=100, fee=20_000)
    await move(database, cheap, ProposalTrigger.CANCEL)
    assert await balance(database, cheap) == 100 * paid.quote.per_run
    dear = draft_plan(owner=cheap.terms.owner, account=cheap.terms.account, legs=32)
    plan = await put(database, dear.but(run_limit=100, auth_limit=3_200))
    quote = await quote_of(database, plan, runs=100, fresh=FreshFees(Stroops(500_000)))
    honest = 100 * 32 * 3 * 500_000 * PRICES.units_per_xlm // 10**7 + PRICES.setup
    assert quote.quote.price == honest
    assert quote.quote.total == honest - 100 * paid.quote.per_run
    assert quote.quote.from_credit == 0, "the credit pays no whole run of this plan"


async def test_each_run_takes_an_equal_share_and_the_rest_comes_back(database: Database) -> None:
    plan = await propose(database)
    await pay(database, plan, runs=3)
    bought = await read_plan(database, plan)
    assert bought.counters.credit.held == 3 * PER_RUN
    async with database.transaction() as db:
        await proposal_store.write_counters(db, plan.terms.id, bought.counters.use_run())
    await move(database, plan, ProposalTrigger.CANCEL)
    assert await balance(database, plan) == 2 * PER_RUN


async def test_top_up_joins_the_money_and_the_fees_of_the_runs(database: Database) -> None:
    plan = await propose(database)
    await pay(database, plan, runs=2, fee=100_000)
    await pay(database, plan, runs=6, fee=300_000, is_top_up=True)
    credit = await credit_of(database, plan)
    assert (credit.held, credit.run_fee) == (2 * PER_RUN + 6 * 3 * PER_RUN, 250_000)
    assert credit.fee_limit == 750_000


async def test_top_up_is_not_cheaper_while_dear_runs_are_left(database: Database) -> None:
    """Else one run at the high limit is paid with the share of many cheap ones."""
    plan = await propose(database)
    await pay(database, plan, runs=1, fee=FEE)
    topped = await pay(database, plan, runs=6, fee=1_000, is_top_up=True)
    assert topped.quote.per_run == PER_RUN
    assert (await credit_of(database, plan)).run_fee == FEE


async def test_plan_that_paused_for_a_new_quote_is_priced_by_it(database: Database) -> None:
    plan = await propose(database)
    await pay(database, plan, runs=4)
    await move(database, plan, ProposalTrigger.ACTIVATE)
    paused = await move(database, plan, ProposalTrigger.PAUSE, reason="new_quote")
    assert (paused.counters.runs_left, paused.counters.credit.held) == (0, 0)
    assert await balance(database, plan) == 4 * PER_RUN
    again = await pay(database, plan, runs=4, fee=2 * FEE, is_top_up=True)
    assert (again.quote.credit, again.quote.total) == (4 * PER_RUN, 4 * PER_RUN)
    credit = await credit_of(database, plan)
    assert (credit.held, credit.run_fee) == (8 * PER_RUN, 2 * FEE)
    assert (await move(database, plan, ProposalTrigger.RESUME)).may_run


async def test_setup_comes_back_unless_the_paymaster_has_spent_it(database: Database) -> None:
    plan = await propose(database)
    await pay(database, plan, runs=1, install=10_000_000)
    credit = await credit_of(database, plan)
    setup = 15_000_000 * PRICES.units_per_xlm // 10**7
    assert (credit.setup_held, credit.setup_left) == (setup, 15_000_000)
    await move(database, plan, ProposalTrigger.CANCEL)
    assert await balance(database, plan) == PER_RUN + setup


async def test_top_up_in_another_token_is_refused_while_the_plan_holds_one(
    database: Database,
) -> None:
    plan = await propose(database)
    await pay(database, plan, runs=1)
    prices = replace(PRICES, asset=party(90))
    sales = {Network.TESTNET: make_sale(prices, REVENUE)}
    quote = await quote_of(database, plan, runs=1, is_top_up=True, sales=sales)
    with pytest.raises(AutomationRefused):
        await land(database, quote)
    assert SALES[Network.TESTNET].prices.asset != prices.asset


@pytest.mark.parametrize(("held", "runs"), [(100, 3), (1, 7), (0, 2), (10**30, 9)])
def test_shares_of_the_runs_add_up_to_what_is_held(held: int, runs: int) -> None:
    credit = PlanCredit(held=BaseUnits(held))
    for left in range(runs, 0, -1):
        credit = credit.use_run(runs_left=left)
    assert credit.held == 0
