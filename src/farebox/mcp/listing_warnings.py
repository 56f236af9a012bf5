"""Compare a challenge with the listing: terms that are not the listed ones are pointed out."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from farebox.catalog.listing import Listing

_MAX_WARNINGS: Final = 100
_MEMBERS: Final = ("network", "asset", "amount", "payTo")


def find_differences(
    challenge: dict[str, Any], listings: Sequence[Listing]
) -> list[dict[str, Any]]:
    """Warn of each payment option whose recipient, price, asset or network is not listed.

    `listings` are those of the URL, one a network. An option is held against the listed terms that
    it is closest to. A warning holds no word of the seller.
    """
    listed = [terms for listing in listings for terms in _listed_terms(listing)]
    found = [
        _warning(number, member, value)
        for number, option in enumerate(challenge["accepts"])
        for member, value in _differences(option, listed)
    ]
    if len(found) <= _MAX_WARNINGS:
        return found
    left_out = len(found) - _MAX_WARNINGS
    message = f"{left_out} more differences from the listing are left out."
    return [*found[:_MAX_WARNINGS], {"code": "more_differences", "message": message}]


def _warning(number: int, member: str, listed: str) -> dict[str, Any]:
    return {
        "code": "differs_from_listing",
        "option": number,
        "member": member,
        "listed": listed,
        "message": f"accepts[{number}].{member} is not the listing's: show both to the payer "
        "before anything is signed.",
    }


def _listed_terms(listing: Listing) -> Iterator[dict[str, str]]:
    """Yield the listed terms; of a listing that names none, its network and recipient."""
    if not listing.accepts:
        yield {"network": listing.network.value, "payTo": listing.pay_to}
    for terms in listing.accepts:
        values = (listing.network.value, terms.asset, str(terms.amount), terms.pay_to)
        yield dict(zip(_MEMBERS, values, strict=True))


def _differences(option: object, listed: list[dict[str, str]]) -> list[tuple[str, str]]:
    offered = option if isinstance(option, dict) else {}
    each = (
        [(name, value) for name, value in terms.items() if offered.get(name) != value]
        for terms in listed
    )
    return min(each, key=lambda found: (any(name == "network" for name, _ in found), len(found)))
