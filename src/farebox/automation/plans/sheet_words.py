"""The words of permission sheets: tokens, amounts, times and numbers of things.

The console has the same words in `console/src/wallet/sheetWords.ts`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from farebox.automation.plans.session_spec import TOKEN_FUNCTIONS
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import NATIVE, USDC, find_token

NOTHING_ELSE: Final = "Nothing else is allowed: no other contract, function, argument or token."
# what the arguments are in the interfaces that everybody shares: SEP-41, Soroswap, Aquarius, ours
_ARGUMENTS: Final = MappingProxyType(
    {
        "transfer": ("from", "to", "amount"),
        "transfer_from": ("spender", "from", "to", "amount"),
        "approve": ("from", "spender", "amount", "last ledger"),
        "burn": ("from", "amount"),
        "burn_from": ("spender", "from", "amount"),
        "swap_exact_tokens_for_tokens": (
            "amount paid",
            "least amount received",
            "tokens",
            "receiver",
            "deadline",
        ),
        "swap_chained": ("payer", "steps", "token paid", "amount paid", "least amount received"),
        "autolayer_run": ("executor",),
    }
)
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


@dataclass(frozen=True, slots=True)
class TokenNames:
    """The names of tokens in one sheet: the known ones by their codes, the others by number."""

    network: Network
    names: Mapping[Address, str]

    def explain(self) -> str:
        """The sentence that says which contracts the names stand for."""
        known = [f"{name} is the token {token}" for token, name in self.names.items()]
        return f"Here {', '.join(known)}."

    def contract(self, contract: Address) -> str:
        """A contract that is called: `the contract C…`, or `XLM` where it is a token."""
        return self.names.get(contract, f"the contract {contract}")

    def token(self, token: Address) -> str:
        """A token: `XLM`, `token 1`."""
        return self.names.get(token, f"the token {token}")

    def amount(self, token: Address, amount: int) -> str:
        """An amount: `1.5 XLM`, or in base units where the token's decimals are not known here."""
        known = find_token(self.network, token)
        return (
            f"{amount} base units of {self.token(token)}" if known is None else known.show(amount)
        )


def name_tokens(network: Network, tokens: Iterable[Address]) -> TokenNames:
    """The names of the tokens of a sheet; USDC and XLM are always among them."""
    known = {token.contract: token.code for token in (USDC[network], NATIVE[network])}
    others = [token for token in dict.fromkeys(tokens) if token not in known]
    numbered = {token: f"token {number}" for number, token in enumerate(others, start=1)}
    return TokenNames(network, known | numbered)


def name_argument(function: str, arguments: int, place: int) -> str:
    """An argument by its place, with its name where so many arguments are a known interface's."""
    names = _ARGUMENTS.get(function, ())
    return f"argument {place + 1}" + (f" ({names[place]})" if len(names) == arguments else "")


def has_amount(function: str, arguments: int) -> int | None:
    """Which argument of a call is an amount that a token moves or lends; None for other calls."""
    expected, amount = TOKEN_FUNCTIONS.get(function, (None, 0))
    return amount if arguments == expected else None


def show_time(seconds: int) -> str:
    """Unix seconds as a time in UTC."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return f"second {seconds} since 1970"
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def show_duration(seconds: int) -> str:
    """Seconds in the largest unit that they fill: `36 hours`, `61 seconds`."""
    for length, unit in _UNITS:
        if seconds and seconds % length == 0:
            return count_of(seconds // length, unit)
    return count_of(seconds, "second")


def count_of(count: int, noun: str) -> str:
    """A number of things: `1 call`, `2 calls`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
