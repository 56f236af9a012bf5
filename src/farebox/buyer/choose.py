"""Which of a seller's ways to pay a buyer takes."""

from dataclasses import dataclass

from farebox.buyer.offer import Offer, Option, Unpayable
from farebox.buyer.tokens import USDC, Token, find_token
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the buyer is ready to pay with; `asset` None is USDC, `at_most` None is no limit."""

    networks: tuple[Network, ...]
    asset: Address | None = None
    at_most: BaseUnits | None = None


@dataclass(frozen=True, slots=True)
class NothingSuitable:
    """No way to pay fits, with the reason of each, in the seller's order."""

    reasons: tuple[str, ...]

    def sentence(self) -> str:
        """The reasons as one sentence."""
        return "None of the seller's terms can be paid: " + "; ".join(self.reasons) + "."


def choose(offer: Offer, wishes: Wishes) -> Option | NothingSuitable:
    """The first option that fits, those charged only after the work before the others."""
    judged = [(option, _objection(option, wishes)) for option in offer.options]
    fitting = [option for option, why in judged if isinstance(option, Option) and why is None]
    if fitting:
        return min(fitting, key=lambda option: option.is_charged_before_work)
    reasons = dict.fromkeys(why for _, why in judged if why is not None)
    return NothingSuitable(tuple(reasons))


def _objection(option: Option | Unpayable, wishes: Wishes) -> str | None:
    if isinstance(option, Unpayable):
        return option.why
    terms = option.terms
    if terms.network not in wishes.networks:
        return f"{terms.network} (name it with --network, and its --rpc-url)"
    wanted = wishes.asset or USDC[terms.network].contract
    if terms.asset != wanted:
        return f"token {terms.asset} on {terms.network} (name it with --asset to pay in it)"
    if wishes.at_most is not None and terms.amount > wishes.at_most:
        token = token_of(option)
        return f"{token.show(terms.amount)} is more than {token.show(wishes.at_most)}"
    return None


def token_of(option: Option) -> Token:
    """The option's token; one not known by name is shown by its contract, in base units."""
    terms = option.terms
    known = find_token(terms.network, terms.asset)
    return known or Token(contract=terms.asset, code=f"base units of {terms.asset}", decimals=0)
