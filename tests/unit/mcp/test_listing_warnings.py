"""A challenge is held against the listing: each changed recipient, price, asset or network."""

from datetime import UTC, datetime
from typing import Any

import pytest

from farebox.catalog.listing import ListedTerms, Listing, ListingType, Metadata, Quality, Resource
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.mcp.listing_warnings import find_differences
from farebox.stellar.known_tokens import USDC
from support.offers import SELLER

NOW = datetime(2026, 11, 28, tzinfo=UTC)
TOKEN = USDC[Network.TESTNET].contract
LISTED = {"network": "stellar:testnet", "asset": TOKEN, "amount": "100", "payTo": SELLER}


def listing(network: Network, *amounts: int) -> Listing:
    resource = Resource(ListingType.HTTP, "key", "https://x/", Metadata(), b"{}", (), "")
    token, seller = USDC[network].contract, Address(SELLER)
    accepts = tuple(ListedTerms("exact", token, BaseUnits(each), seller, 60) for each in amounts)
    return Listing(1, network, resource, seller, accepts, NOW, Quality(0, 0, NOW, NOW))


def differences(*options: Any, listings: tuple[Listing, ...]) -> list[tuple[int, str, str]]:
    found = find_differences({"accepts": list(options)}, listings)
    return [(each["option"], each["member"], each["listed"]) for each in found]


BOTH = (listing(Network.TESTNET, 100), listing(Network.PUBNET, 7, 200))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"extra": {}, "maxTimeoutSeconds": 1}, []),
        ({"amount": "101"}, [("amount", "100")]),
        ({"amount": 100}, [("amount", "100")]),
        ({"payTo": "GEVIL"}, [("payTo", SELLER)]),
        ({"asset": USDC[Network.PUBNET].contract}, [("asset", TOKEN)]),
        ({"amount": "1", "payTo": None}, [("amount", "100"), ("payTo", SELLER)]),
        ({"network": "eip155:1"}, [("network", "stellar:testnet")]),
    ],
)
def test_each_changed_member_of_an_option_is_named_with_the_listed_value(
    changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    found = differences(LISTED, LISTED | changes, listings=BOTH)
    assert found == [(1, *each) for each in expected]


def test_option_is_held_against_the_listed_terms_of_its_own_network() -> None:
    pubnet = LISTED | {"network": "stellar:pubnet", "asset": USDC[Network.PUBNET].contract}
    assert differences(pubnet | {"amount": "200"}, listings=BOTH) == []
    assert differences(pubnet | {"amount": "100"}, listings=BOTH) == [(0, "amount", "7")]


@pytest.mark.parametrize("option", [None, "x", [], 7, {}])
def test_option_of_another_form_differs_in_every_member(option: Any) -> None:
    found = differences(option, listings=BOTH[:1])
    assert [member for _, member, _ in found] == ["network", "asset", "amount", "payTo"]


def test_listing_without_terms_has_a_network_and_a_recipient() -> None:
    bare = (listing(Network.TESTNET),)
    assert differences(LISTED, listings=bare) == []
    changed = LISTED | {"payTo": "GEVIL", "amount": "9"}
    assert differences(changed, listings=bare) == [(0, "payTo", SELLER)]


def test_many_differences_are_counted_and_no_option_passes_in_silence() -> None:
    found = find_differences({"accepts": [{}] * 1_000 + [LISTED]}, BOTH)
    assert len(found) == 101
    assert found[-1]["code"] == "more_differences"
    assert "3900 more" in found[-1]["message"]
