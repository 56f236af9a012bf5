"""The sentences that state each limit as a number of payments."""

from farebox.facilitator.budgets.budget import UNLIMITED, Budgets, BudgetScope
from farebox.facilitator.budgets.limit_sentences import describe_limits
from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network


def test_describe_limits_gives_each_limit_in_payments() -> None:
    budgets = Budgets(
        total=Stroops(2_000_000_000), payer=Stroops(20_000_000), payer_loss=Stroops(1_000_001)
    )
    sentences = describe_limits(Network.TESTNET, budgets)
    assert len(sentences) == len(BudgetScope)
    assert sentences[0] == (
        "On testnet, all payments together may cost 200 XLM a UTC day: "
        "86,956 plain transfers at 23,000 stroops."
    )
    assert sentences[1].endswith(
        "one payer may cost 2 XLM a UTC day: 869 plain transfers at 23,000 stroops."
    )
    assert sentences[2] == "On testnet, the payments to one recipient have no limit of their own."
    assert "0.1000001 XLM a UTC day: 43 plain" in sentences[-1]


def test_describe_limits_says_no_limit_when_it_is_off() -> None:
    assert all("no limit" in each for each in describe_limits(Network.PUBNET, UNLIMITED))


def test_describe_limits_counts_payments_at_the_mean_fee_of_the_newest() -> None:
    budgets = Budgets(total=Stroops(2_000_000_000))
    sentences = describe_limits(Network.TESTNET, budgets, Stroops(50_000))
    assert sentences[0].endswith(
        "200 XLM a UTC day: 40,000 payments at 50,000 stroops, the mean fee of the newest."
    )
