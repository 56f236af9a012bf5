"""What is read of a stranger's 402."""

import json
from typing import Any

import pytest

from farebox.catalog.origin.offers import MAX_OFFERS, Offer, Offers, read_offers
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from support.settled import ASSET, OTHER_SELLER, SELLER

Json = dict[str, Any]


def entry(**changes: object) -> Json:
    said: Json = {
        "scheme": "exact",
        "network": "stellar:testnet",
        "asset": ASSET,
        "amount": "10000",
        "payTo": SELLER,
        "maxTimeoutSeconds": 60,
        "extra": {"areFeesSponsored": True},
    }
    return said | changes


def document(*entries: object, **changes: object) -> bytes:
    return json.dumps({"x402Version": 2, "accepts": list(entries)} | changes).encode()


def test_each_way_to_pay_on_our_networks_is_an_offer() -> None:
    raw = document(entry(), entry(network="stellar:pubnet", payTo=OTHER_SELLER, amount="1"))
    assert read_offers(raw) == Offers(
        (
            Offer(Network.TESTNET, ASSET, BaseUnits(10_000), SELLER),
            Offer(Network.PUBNET, ASSET, BaseUnits(1), OTHER_SELLER),
        ),
        raw,
    )


def test_a_recipient_is_named_on_its_own_network_only() -> None:
    read = read_offers(document(entry()))
    assert read is not None
    assert read.name(Network.TESTNET, SELLER)
    assert not read.name(Network.PUBNET, SELLER)
    assert not read.name(Network.TESTNET, OTHER_SELLER)


@pytest.mark.parametrize(
    "other",
    [
        entry(scheme="upto"),
        entry(network="eip155:8453"),
        entry(network="stellar:TESTNET"),
        entry(asset="USDC"),
        entry(payTo="M" + SELLER[1:]),
        entry(payTo=SELLER[:-1]),
        entry(payTo=None),
        entry(amount=10_000),
        entry(amount="0"),
        entry(amount="-1"),
        entry(amount=str(2**127)),
        entry(payTo=[SELLER]),
        [],
        "text",
        None,
        {},
    ],
)
def test_what_is_none_of_ours_is_left_out_and_hides_nothing(other: object) -> None:
    read = read_offers(document(other, entry(), other))
    assert read is not None
    assert [each.pay_to for each in read.offers] == [SELLER]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"x402Version": 2}',
        b'{"x402Version": 2, "accepts": {}}',
        b'{"x402Version": "2", "accepts": []}',
        b'{"x402Version": 1, "accepts": []}',
        b'{"accepts": []}',
        b'{"x402Version": 2, "accepts": [' + b"[" * 100_000,
        b'{"x402Version": 2, "accepts": [], "error": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_402_of_version_2_is_unreadable(raw: bytes) -> None:
    assert read_offers(raw) is None


def test_only_the_first_offers_are_read() -> None:
    many = [entry(amount=str(n)) for n in range(1, 500)]
    read = read_offers(document(*many))
    assert read is not None
    assert len(read.offers) == MAX_OFFERS
