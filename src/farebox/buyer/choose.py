"""Choose one of the seller's payment options, and describe its price."""

from dataclasses import dataclass

from farebox.buyer.offer import Offer, Option, UnpayableOption
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import USDC, DisplayToken, find_token


@dataclass(frozen=True, slots=True)
class BuyerPreferences:
    """The buyer's networks, asset and limit; `asset` None is USDC, `max_amount` None no limit."""

    networks: tuple[Network, ...]
    asset: Address | None = None
    max_amount: BaseUnits | None = None


@dataclass(frozen=True, slots=True)
class NoSuitableOption:
    """No option is suitable; `reasons` has one of each option, in the seller's order."""

    reasons: tuple[str, ...]

    def sentence(self) -> str:
        """Join the reasons to one sentence."""
        return "None of the seller's payment options is suitable: " + "; ".join(self.reasons) + "."


def choose(offer: Offer, preferences: BuyerPreferences) -> Option | NoSuitableOption:
    """Choose the first suitable option, preferring those charged after the work."""
    judged = [(option, _objection(option, preferences)) for option in offer.options]
    suitable = [each for each, reason in judged if isinstance(each, Option) and reason is None]
    if suitable:
        return min(suitable, key=lambda option: option.is_charged_before_work)
    reasons = dict.fromkeys(reason for _, reason in judged if reason is not None)
    return NoSuitableOption(tuple(reasons))


def _objection(option: Option | UnpayableOption, preferences: BuyerPreferences) -> str | None:
    if isinstance(option, UnpayableOption):
        return option.reason
    terms = option.terms
    if terms.network not in preferences.networks:
        return f"{terms.network} (name it with --network, and its --rpc-url)"
    asset = preferences.asset or USDC[terms.network].contract
    if terms.asset != asset:
        return f"token {terms.asset} on {terms.network} (name it with --asset to pay in it)"
    if preferences.max_amount is not None and terms.amount > preferences.max_amount:
        token = token_of(option)
        return f"{token.show(terms.amount)} is more than {token.show(preferences.max_amount)}"
    return None


def token_of(option: Option) -> DisplayToken:
    """The option's token; an unknown one is named by its contract and shown in base units."""
    terms = option.terms
    known = find_token(terms.network, terms.asset)
    return known or DisplayToken(
        contract=terms.asset, code=f"base units of {terms.asset}", decimals=0
    )


def describe_price(offer: Offer, option: Option, *, payer: str) -> list[str]:
    """Describe the price, network, recipient and payer, one in a line."""
    terms = option.terms
    lines = [
        f"  price    {token_of(option).show(terms.amount)}",
        f"  network  {terms.network.label}",
        f"  to       {terms.pay_to}",
        f"  from     {payer}",
    ]
    if offer.description:
        lines.insert(0, f"  for      {offer.description}")
    if option.is_charged_before_work:
        lines.append("  The seller charges before it does the work.")
    return lines
