"""Quotes of runs as rows: what they cost, how long they hold, and which one is current."""

from dataclasses import replace
from datetime import timedelta

import pytest

from farebox.automation.credits import credit_payment
from farebox.automation.credits.run_payment import make_sale
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.automation import RUNS, draft_plan
from support.journal_rows import party
from support.manual_clock import START
from support.run_payments import (
    FEE,
    FEES,
    PER_RUN,
    PRICES,
    REVENUE,
    SALES,
    land,
    propose,
    quote_of,
    quotes,
)


async def test_quote_is_kept_while_it_holds_and_revised_afterwards(database: Database) -> None:
    plan = await propose(database)
    first = await quote_of(database, plan)
    assert (first.quote.revision, first.identifier) == (1, f"{plan.terms.id}_1")
    assert first.quote.total == RUNS * PER_RUN + 500
    assert (first.pay_to, first.quote.fees.run) == (REVENUE, FEE)
    assert await quote_of(database, plan, now=START + timedelta(minutes=15)) == first
    later = await quote_of(database, plan, now=START + timedelta(minutes=15, seconds=1))
    assert (later.quote.revision, later.quote.total) == (2, first.quote.total)
    fewer = await quote_of(database, plan, runs=2)
    assert (fewer.quote.revision, fewer.quote.total) == (3, 2 * PER_RUN + 500)
    dearer = {Network.TESTNET: make_sale(PRICES, party(8_001))}
    moved = await quote_of(database, plan, runs=2, sales=dearer)
    assert (moved.quote.revision, moved.pay_to) == (4, party(8_001))


async def test_run_of_several_transactions_costs_the_fee_of_each(database: Database) -> None:
    plan = await propose(database, draft_plan(legs=3))
    quoted = await quote_of(database, plan, runs=2)
    assert quoted.quote.total == 2 * 3 * PER_RUN + 500
    both = [
        await quotes(database).estimate(
            plan.terms.owner, Network.TESTNET, runs=2, legs=legs, fees=FEES, now=START
        )
        for legs in (1, 3)
    ]
    assert [each.quote.per_run for each in both] == [PER_RUN, 3 * PER_RUN]


async def test_plan_keeps_its_last_quotes_only(database: Database) -> None:
    plan = await propose(database)
    made = [await quote_of(database, plan, runs=1 + number % 2) for number in range(20)]
    async with database.connection() as db:
        rows = await db.fetch("SELECT quote_revision FROM automation_payments ORDER BY 1")
    kept = [row["quote_revision"] for row in rows]
    assert kept == list(range(made[-1].quote.revision - 9, made[-1].quote.revision + 1))


async def test_estimate_writes_nothing_and_has_no_identifier(database: Database) -> None:
    owner = draft_plan().terms.owner
    network = Network.TESTNET
    own = quotes(database)
    offered = await own.estimate(owner, network, runs=3, legs=1, fees=FEES, now=START)
    assert (offered.quote.total, offered.payment_identifier) == (3 * PER_RUN + 500, "")
    async with database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM automation_payments") == 0
    with pytest.raises(Refusal) as caught:
        await own.estimate(owner, Network.PUBNET, runs=3, legs=1, fees=FEES, now=START)
    assert caught.value.code is ErrorCode.AUTOMATION_UNAVAILABLE


async def test_current_quote_is_the_newest_that_waits_for_payment(database: Database) -> None:
    plan = await propose(database)
    held = await land(database, await quote_of(database, plan))
    async with database.connection() as db:
        assert await quotes(database).current(db, plan.terms, now=START) is None
    async with database.transaction() as db:
        await credit_payment.refute_payment(db, held, failure="expired", is_over=False, at=START)
    async with database.connection() as db:
        current = await quotes(database).current(db, plan.terms, now=START)
    assert current is not None
    assert current.payment_identifier == held.identifier


async def test_runs_are_free_without_a_revenue_account_or_at_prices_of_zero() -> None:
    assert SALES[Network.TESTNET].pay_to == REVENUE
    for sale in (
        make_sale(PRICES, None),
        make_sale(
            replace(PRICES, floor_per_run=0, setup=0, units_per_xlm=0),  # type: ignore[arg-type]
            REVENUE,
        ),
    ):
        assert sale.prices.is_free
        assert sale.pay_to is None
