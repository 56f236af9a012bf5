"""What plans of each kind do, as callers write it in JSON."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]


def in_time(**delta: float) -> str:
    """A moment from now, as JSON has it."""
    return (datetime.now(UTC) + timedelta(**delta)).isoformat().replace("+00:00", "Z")


def upkeep(keeper: str) -> Json:
    """Run a target of the convention."""
    return {"contract": keeper, "autolayer": True, "effects": {}}


def spending_call(contract: str, function: str, party: str, token: str, amount: int) -> Json:
    """Call a function with the owner, a party and an amount: so much of a token may go."""
    return {
        "contract": contract,
        "function": function,
        "args": [
            {"type": "address", "value": "$account"},
            {"type": "address", "value": party},
            {"type": "i128", "value": str(amount)},
        ],
        "effects": {"maxDebit": [{"token": token, "amount": str(amount)}], "minCredit": []},
    }


def feed(keeper: str, token: str, amount: int) -> Json:
    """Feed a keeper with some of a token."""
    return spending_call(keeper, "feed", token, token, amount)


def purchase(sold: str, bought: str, amount: int) -> Json:
    """Sell so much of a token for another one, at half of it at least."""
    return {
        "venue": "soroswap",
        "tokenIn": sold,
        "tokenOut": bought,
        "amountIn": str(amount),
        "slippageBps": 100,
        "minRate": {"num": "1", "den": "2"},
    }


def portfolio(tokens: tuple[str, str], oracle: str, most: int) -> Json:
    """Keep half in each token, by trades of so much."""
    return {
        "assets": [{"token": token, "weightBps": 5_000} for token in tokens],
        "driftBps": 100,
        "maxTradePerRun": [{"token": token, "amount": str(most)} for token in tokens],
        "oracle": oracle,
        "maxSlippageBps": 500,
        "venue": "soroswap",
    }


def payments(token: str, legs: Iterable[tuple[str, int]]) -> Json:
    """Pay several recipients."""
    return {"token": token, "legs": [{"to": to, "amount": str(amount)} for to, amount in legs]}
