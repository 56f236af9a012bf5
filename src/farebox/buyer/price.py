"""A price as a person is shown it before agreeing."""

from farebox.buyer.choose import token_of
from farebox.buyer.offer import Offer, Option


def price_lines(offer: Offer, option: Option, *, payer: str) -> list[str]:
    """The price and who gets it, a line each."""
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
