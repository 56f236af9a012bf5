"""The trade that brings a portfolio back to its weights: what is sold, and how much of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from farebox.automation.plans.plan import RebalancePlan
from farebox.automation.plans.session_spec import BPS
from farebox.kernel.addresses import Address


@dataclass(frozen=True, slots=True)
class Trade:
    """Sell `amount` base units of one token for another."""

    sold: Address
    bought: Address
    amount: int


def choose_trade(
    plan: RebalancePlan, balances: Mapping[Address, int], prices: Mapping[Address, int]
) -> Trade | None:
    """The trade of a run; None while no token drifts by the plan's threshold.

    `prices` are for a base unit each. The token furthest above its weight is sold for the one
    furthest below, up to that weight and up to what the plan sells of it in a run.
    """
    worth = {token: balances[token] * prices[token] for token, _ in plan.weights}
    total = sum(worth.values())
    if total <= 0:
        return None
    excess = {token: worth[token] - total * bps // BPS for token, bps in plan.weights}
    sold, bought = max(excess, key=excess.__getitem__), min(excess, key=excess.__getitem__)
    drift = max(excess[sold], -excess[bought])
    if drift * BPS < plan.drift_bps * total:
        return None
    most = {trade.token: trade.amount for trade in plan.max_trades}
    amount = min(excess[sold] // prices[sold], balances[sold], most[sold])
    return Trade(sold, bought, amount) if amount > 0 and sold != bought else None
