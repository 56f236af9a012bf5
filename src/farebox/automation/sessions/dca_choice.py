"""The least that a purchase must bring: the owner's rate, the quote of now, the oracle's floor."""

from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.execution.run_authority import PLAN_UNREADABLE, RunNotPrepared
from farebox.automation.plans.plan import DcaPlan
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.sessions.plan_reader import PlanReader
from farebox.automation.sessions.prices import PriceReader
from farebox.automation.sessions.run_choice import RunChoice
from farebox.automation.sessions.swap_quotes import SwapQuotes, less_slippage
from farebox.stellar.ledger_clock import LedgerReading


class DcaChoice:
    """Chooses `minOut` of a purchase; see `RunChooser`."""

    def __init__(self, plans: PlanReader, quotes: SwapQuotes, prices: PriceReader) -> None:
        self._plans, self._quotes, self._prices = plans, quotes, prices

    async def choose(
        self, terms: PlanTerms, calls: RunCalls, now: LedgerReading
    ) -> RunChoice | RunNotPrepared:
        """The highest of the three; no run where the quote is below the owner's or the oracle's.

        Raises:
            ReadRefused: the venue or the oracle gives no number.
            RpcUnavailable: no node answers.
            DatabaseUnavailable: the plan cannot be read.
        """
        plan = await self._plans.read(terms)
        if not isinstance(plan, DcaPlan):
            return RunNotPrepared(ErrorClass.PROGRAM, PLAN_UNREADABLE)
        router = calls.planned.calls[0].allowed.contract
        quote = await self._quotes.dca(terms.owner, router, plan)
        least = max(plan.least_out, await self._floor(terms, plan, now))
        if quote < least:
            return RunNotPrepared(ErrorClass.MARKET, "price_below_limit")
        return RunChoice(min_out=max(least, less_slippage(quote, plan.slippage_bps)))

    async def _floor(self, terms: PlanTerms, plan: DcaPlan, now: LedgerReading) -> int:
        floor = plan.floor
        if floor is None:
            return 0
        prices = await self._prices.pair(
            terms.owner,
            floor.oracle,
            (plan.token_in, plan.token_out),
            max_age_s=floor.max_age_s,
            ledger_time=int(now.close_at.timestamp()),
        )
        return prices.floor(plan.amount_in, floor.bps)
