"""Sentences for the operator: how many payments each budget limit allows."""

from typing import Final

from farebox.facilitator.budgets.budget import Budgets, BudgetScope
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network

# the measured charge for a plain transfer (docs/operations.md)
PLAIN_TRANSFER: Final = Stroops(23_000)
_XLM: Final = 10_000_000  # stroops
_SUBJECTS: Final = {
    BudgetScope.TOTAL: "all payments together",
    BudgetScope.PAYER: "the payments of one payer",
    BudgetScope.PAY_TO: "the payments to one recipient",
    BudgetScope.KEY: "the payments of one caller, where all who are not established are one,",
    BudgetScope.ASSET: "the payments in one named asset",
    BudgetScope.OTHER_ASSETS: "the payments in all assets that are not named",
    BudgetScope.PAYER_LOSS: "the failed payments of one payer, with those under way,",
}


def describe_limits(
    network: Network, budgets: Budgets, mean_fee: Stroops | None = None
) -> list[str]:
    """Describe each limit by the number of payments it allows in a UTC day.

    `mean_fee` (stroops) is that of the newest payments; without it the measured fee of a plain
    transfer is used.
    """
    priced = f"payments at {mean_fee:,} stroops, the mean fee of the newest" if mean_fee else ""
    priced = priced or f"plain transfers at {PLAIN_TRANSFER:,} stroops"
    return [
        f"On {network.label}, {subject} {_describe_limit(budgets.limit(scope), mean_fee, priced)}."
        for scope, subject in _SUBJECTS.items()
    ]


def _describe_limit(limit: int, mean_fee: Stroops | None, priced: str) -> str:
    if not limit:
        return "have no limit of their own"
    whole, rest = divmod(limit, _XLM)
    xlm = f"{whole:,}.{rest:07}".rstrip("0").rstrip(".")
    return f"may cost {xlm} XLM a UTC day: {limit // (mean_fee or PLAIN_TRANSFER):,} {priced}"
