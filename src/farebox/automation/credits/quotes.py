"""Quotes: the price of a plan's runs, as rows with revisions that are valid for 15 minutes."""

from collections.abc import Mapping
from datetime import datetime

from farebox.automation.credits import credit_ledger, run_payment_store
from farebox.automation.credits.run_payment import RunPayment, RunPaymentState, RunSale
from farebox.automation.plans.quote import FreshFees, OfferedQuote, QuotedFees, make_quote
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.automation.refusal import AutomationUnavailable
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection, Database


class RunQuotes:
    """Makes the quotes of plans; `sales` has the networks on which plans run.

    It works in the caller's transaction, but for estimates. `fees` are those of this very plan, by
    simulations; a run has a transaction for each leg.
    """

    def __init__(self, database: Database, sales: Mapping[Network, RunSale]) -> None:
        self._database, self._sales = database, sales

    def is_free(self, network: Network) -> bool:
        """Whether runs cost nothing on a network."""
        sale = self._sales.get(network)
        return sale is None or sale.pay_to is None

    async def estimate(
        self,
        owner: OwnerId,
        network: Network,
        *,
        runs: int,
        legs: int,
        fees: QuotedFees,
        now: datetime,
    ) -> OfferedQuote:
        """The quote that a plan would get; nothing is written, and nothing can be paid with it.

        Raises:
            AutomationUnavailable: no plans run on the network.
        """
        sale = self._sale(network)
        async with self._database.connection() as db:
            credit = await credit_ledger.read_balance(db, owner, network, sale.prices.asset)
        quote = make_quote(
            sale.prices, runs=runs, legs=legs, fees=fees, revision=0, now=now, credit=credit
        )
        return OfferedQuote(quote, network, "", pay_to=sale.pay_to, is_free=quote.total == 0)

    async def issue(
        self, db: Connection, terms: PlanTerms, *, runs: int, fees: QuotedFees, now: datetime
    ) -> OfferedQuote:
        """Quote a new plan, in the transaction that inserts it.

        Raises:
            AutomationUnavailable: no plans run on the network.
        """
        return (await self._issue(db, terms, runs, fees, now)).offered

    async def current(
        self, db: Connection, terms: PlanTerms, *, now: datetime
    ) -> OfferedQuote | None:
        """The newest quote of a plan, which may have expired; None where none waits for payment."""
        latest = await run_payment_store.find_latest(db, terms.id)
        is_quoted = latest is not None and latest.state is RunPaymentState.QUOTED
        return latest.offered if latest is not None and is_quoted else None

    async def offer(
        self,
        db: Connection,
        plan: StoredPlan,
        *,
        runs: int,
        now: datetime,
        is_top_up: bool,
        fresh: FreshFees | None,
    ) -> RunPayment | None:
        """The latest quote of a locked plan where it is the one wanted and holds, else the next.

        None where the next one needs fees that are fresh, and none are given. A run whose fee is
        not known has that of the latest quote; without any, the plan's own limit.

        Raises:
            AutomationUnavailable: no plans run on the network.
        """
        latest = await run_payment_store.find_latest(db, plan.terms.id)
        known = QuotedFees(plan.terms.max_fee)
        if latest is not None:
            known = latest.quote.fees
            wanted = (runs, is_top_up, self._sale(plan.terms.network).pay_to)
            found = (latest.quote.runs, latest.is_top_up, latest.pay_to)
            if wanted == found and await self._holds(db, plan.terms, latest, now):
                return latest
        if fresh is None:  # what is free has to pass the same preflight
            return None
        fees = join_fees(plan, known, fresh)
        return await self._issue(db, plan.terms, runs, fees, now, is_top_up=is_top_up)

    async def _holds(
        self, db: Connection, terms: PlanTerms, latest: RunPayment, now: datetime
    ) -> bool:
        """Whether a quote can be paid: in time, and with the credit that it counts on."""
        if latest.state is not RunPaymentState.QUOTED or not latest.quote.is_current(now):
            return False
        asset = latest.quote.asset
        balance = await credit_ledger.read_balance(db, terms.owner, terms.network, asset)
        return latest.quote.credit <= balance

    async def _issue(
        self,
        db: Connection,
        terms: PlanTerms,
        runs: int,
        fees: QuotedFees,
        now: datetime,
        *,
        is_top_up: bool = False,
    ) -> RunPayment:
        """Write the next quote of a plan that this transaction has inserted or locked."""
        sale = self._sale(terms.network)
        asset = sale.prices.asset
        quote = make_quote(
            sale.prices,
            runs=runs,
            legs=terms.legs,
            fees=fees,
            revision=await run_payment_store.next_revision(db, terms.id),
            now=now,
            is_top_up=is_top_up,
            credit=await credit_ledger.read_balance(db, terms.owner, terms.network, asset),
        )
        return await run_payment_store.add_quote(
            db, terms, quote, pay_to=sale.pay_to, is_top_up=is_top_up
        )

    def _sale(self, network: Network) -> RunSale:
        sale = self._sales.get(network)
        if sale is None:
            raise AutomationUnavailable
        return sale


def join_fees(plan: StoredPlan, known: QuotedFees, fresh: FreshFees) -> QuotedFees:
    """The fees of the next quote, by those of the latest one and those as of now.

    The runs of a plan have one fee limit. While some of them are unused, or where the transactions
    of a run differ, a further quote is not made of a lower fee than the plan's own.
    """
    credit = plan.counters.credit
    run = known.run if fresh.run is None else fresh.run
    is_joined = plan.counters.runs_left > 0 or plan.terms.legs > 1 or fresh.run is None
    if credit.run_fee is not None and is_joined:
        run = max(run, credit.run_fee)
    return QuotedFees(run, fresh.install)
