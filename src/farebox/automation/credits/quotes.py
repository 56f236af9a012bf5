"""Quotes: the price of a plan's runs, as rows with revisions that are valid for 15 minutes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from farebox.automation.credits import credit_ledger, run_payment_store
from farebox.automation.credits.run_payment import RunPayment, RunPaymentState, RunSale
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.quote import Quote, make_quote
from farebox.automation.plans.stored_plan import PlanTerms, StoredPlan
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


class RunQuotes:
    """Makes the quotes of plans; `sales` has the networks on which plans run.

    Each method works in the caller's transaction. `fee` is the highest network fee, in stroops, of
    all transactions of one run, from a simulation of this very plan.
    """

    def __init__(self, sales: Mapping[Network, RunSale]) -> None:
        self._sales = sales

    def is_free(self, network: Network) -> bool:
        """Whether runs cost nothing there."""
        return self._sale(network).prices.is_free

    def pay_to(self, network: Network) -> Address | None:
        """The account that runs are paid to; None where they are free."""
        sale = self._sale(network)
        return None if sale.prices.is_free else sale.pay_to

    async def preview(
        self,
        db: Connection,
        owner: OwnerId,
        network: Network,
        *,
        runs: int,
        fee: Stroops,
        now: datetime,
    ) -> Quote:
        """The quote of a plan that is not proposed; its revision is 0 and nothing is written."""
        credit = await credit_ledger.read_balance(db, owner, network)
        prices = self._sale(network).prices
        return make_quote(
            prices, runs=runs, fee_stroops=fee, revision=0, now=now, credit=credit
        )

    async def issue(
        self,
        db: Connection,
        terms: PlanTerms,
        *,
        runs: int,
        fee: Stroops,
        now: datetime,
        is_top_up: bool = False,
    ) -> RunPayment:
        """Write the next quote of a plan that this transaction has inserted or locked."""
        sale = self._sale(terms.network)
        credit = await credit_ledger.read_balance(db, terms.owner, terms.network)
        quote = make_quote(
            sale.prices,
            runs=runs,
            fee_stroops=fee,
            revision=await run_payment_store.next_revision(db, terms.id),
            now=now,
            is_top_up=is_top_up,
            credit=credit,
        )
        return await run_payment_store.add_quote(
            db,
            terms.id,
            terms.network,
            quote,
            pay_to=None if sale.prices.is_free else sale.pay_to,
            fee=fee,
            is_top_up=is_top_up,
        )

    async def current(self, db: Connection, proposal_id: str) -> RunPayment | None:
        """The newest quote of a plan, valid or not; None while none can be paid."""
        latest = await run_payment_store.find_latest(db, proposal_id)
        is_quoted = latest is not None and latest.state is RunPaymentState.QUOTED
        return latest if is_quoted else None

    async def refresh(
        self, db: Connection, plan: StoredPlan, *, fee: Stroops, now: datetime
    ) -> RunPayment | None:
        """The current quote of a locked plan, a new one where it is out of date.

        None for a plan that waits for no payment.
        """
        if plan.state is not ProposalState.PROPOSED:
            return None
        latest = await run_payment_store.find_latest(db, plan.terms.id)
        runs = plan.terms.run_limit if latest is None else latest.quote.runs
        if latest is not None:
            latest = replace(latest, fee=fee)
        return await self.offer(db, plan, runs=runs, now=now, latest=latest)

    async def offer(
        self,
        db: Connection,
        plan: StoredPlan,
        *,
        runs: int,
        now: datetime,
        is_top_up: bool = False,
        latest: RunPayment | None,
    ) -> RunPayment:
        """The latest quote where it is the one wanted and still holds, else the next one.

        The next one has the fee that the latest was made with; without any, the plan's own limit.
        """
        if latest is not None and await self._holds(db, plan, latest, runs, now, is_top_up):
            return latest
        fee = Stroops(plan.terms.max_fee * plan.terms.legs) if latest is None else latest.fee
        return await self.issue(
            db, plan.terms, runs=runs, fee=fee, now=now, is_top_up=is_top_up
        )

    async def _holds(
        self,
        db: Connection,
        plan: StoredPlan,
        latest: RunPayment,
        runs: int,
        now: datetime,
        is_top_up: bool,  # noqa: FBT001 - of a private function
    ) -> bool:
        wanted = (RunPaymentState.QUOTED, runs, is_top_up, self.pay_to(plan.terms.network))
        found = (latest.state, latest.quote.runs, latest.is_top_up, latest.pay_to)
        if found != wanted or not latest.quote.is_current(now):
            return False
        balance = await credit_ledger.read_balance(db, plan.terms.owner, plan.terms.network)
        return latest.quote.from_credit <= balance

    def _sale(self, network: Network) -> RunSale:
        sale = self._sales.get(network)
        if sale is None:
            raise Refusal(ErrorCode.AUTOMATION_UNAVAILABLE)
        return sale
