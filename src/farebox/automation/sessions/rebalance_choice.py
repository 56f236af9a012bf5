"""The trade of a rebalance at run time: drift from balances and prices, then amount and floor."""

from farebox.automation.authority.stored_calls import RunCalls
from farebox.automation.execution.check_condition import (
    CheckBroken,
    ConditionAnswer,
    ConditionFails,
    ConditionHolds,
)
from farebox.automation.execution.run_authority import NO_DRIFT, PLAN_UNREADABLE, RunNotPrepared
from farebox.automation.execution.simulate_run import unavailable_code
from farebox.automation.plans.plan import RebalancePlan
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.runs.retries import ErrorClass
from farebox.automation.sessions.contract_reads import ContractReads, ReadRefused
from farebox.automation.sessions.plan_reader import PlanReader
from farebox.automation.sessions.prices import PairPrices, PriceReader
from farebox.automation.sessions.rebalance_trade import Trade, choose_trade
from farebox.automation.sessions.run_choice import RunChoice
from farebox.automation.sessions.swap_quotes import SwapQuotes, less_slippage
from farebox.kernel.addresses import Address
from farebox.stellar.ledger_clock import LedgerReading
from farebox.stellar.rpc import RpcUnavailable

MAX_PRICE_AGE_S = 3_600  # as the mandate's own floor has it


class RebalanceChoice:
    """Chooses the trade of a portfolio of two tokens; see `RunChooser`."""

    def __init__(
        self, plans: PlanReader, reads: ContractReads, quotes: SwapQuotes, prices: PriceReader
    ) -> None:
        self._plans, self._reads = plans, reads
        self._quotes, self._prices = quotes, prices

    async def choose(
        self, terms: PlanTerms, calls: RunCalls, now: LedgerReading
    ) -> RunChoice | RunNotPrepared:
        """The root call that sells the trade's token, its amount, and its floor.

        Raises:
            ReadRefused: a balance, a price or a quote is not known.
            RpcUnavailable: no node answers.
            DatabaseUnavailable: the plan cannot be read.
        """
        plan = await self._plans.read(terms)
        if not isinstance(plan, RebalancePlan):
            return RunNotPrepared(ErrorClass.PROGRAM, PLAN_UNREADABLE)
        if plan.strategy is not None:
            return RunChoice()  # the strategy's contract chooses
        found = await self._trade(terms, plan, now)
        root = None if found is None else _root_of(calls, found[0].sold)
        if found is None or root is None:
            return RunNotPrepared(ErrorClass.MARKET, NO_DRIFT)
        trade, prices = found
        path = trade.sold, trade.bought
        router = calls.planned.calls[root].allowed.contract
        quote = await self._quotes.soroswap(terms.owner, router, path, trade.amount)
        floor = prices.floor(trade.amount, plan.max_slippage_bps)
        if quote < floor:
            return RunNotPrepared(ErrorClass.MARKET, "price_below_limit")
        least = max(floor, less_slippage(quote, plan.max_slippage_bps))
        return RunChoice(root, trade.amount, least)

    async def ask(self, terms: PlanTerms, now: LedgerReading) -> ConditionAnswer:
        """Whether the portfolio has drifted by the plan's threshold.

        Raises:
            DatabaseUnavailable: the plan cannot be read.
        """
        plan = await self._plans.read(terms)
        if not isinstance(plan, RebalancePlan):
            return CheckBroken(ErrorClass.PROGRAM, PLAN_UNREADABLE)
        if plan.strategy is not None:
            return ConditionHolds(now.sequence)
        try:
            found = await self._trade(terms, plan, now)
        except ReadRefused as failed:
            return CheckBroken(failed.error, failed.code)
        except RpcUnavailable as outage:
            return CheckBroken(ErrorClass.TRANSPORT, unavailable_code(outage))
        has_drifted = found is not None
        return ConditionHolds(now.sequence) if has_drifted else ConditionFails(now.sequence)

    async def _trade(
        self, terms: PlanTerms, plan: RebalancePlan, now: LedgerReading
    ) -> tuple[Trade, PairPrices] | None:
        owner, account = terms.owner, terms.account
        if account is None or len(plan.weights) != 2:
            raise ReadRefused(ErrorClass.PROGRAM, PLAN_UNREADABLE)
        first, second = (token for token, _ in plan.weights)
        prices = await self._prices.pair(
            owner,
            plan.oracle,
            (first, second),
            max_age_s=MAX_PRICE_AGE_S,
            ledger_time=int(now.close_at.timestamp()),
        )
        balances = {
            token: await self._reads.balance(owner, token, account) for token in (first, second)
        }
        trade = choose_trade(plan, balances, {first: prices.sold, second: prices.bought})
        if trade is None:
            return None
        is_first = trade.sold == first
        return trade, prices if is_first else PairPrices(prices.bought, prices.sold)


def _root_of(calls: RunCalls, sold: Address) -> int | None:
    """The index of the root call below which `sold` is paid."""
    return next(
        (
            each.allowed.under
            for each in calls.planned.calls
            if each.allowed.under is not None and each.allowed.contract == sold
        ),
        None,
    )
