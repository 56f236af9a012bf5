"""What a payload says of its resource is carried as it came, and is no part of the payment."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.x402.discovery import MAX_DISCOVERY_BYTES, DiscoveryText, read_discovery_text
from farebox.x402.payment import Payment
from farebox.x402.wire import read_payment
from support.settled import ASSET, SELLER

TERMS = {
    "scheme": "exact",
    "network": "stellar:testnet",
    "asset": ASSET,
    "amount": "10000",
    "payTo": SELLER,
    "maxTimeoutSeconds": 60,
    "extra": {"areFeesSponsored": True},
}


def read(**payload: Any) -> Payment:
    sent = {"x402Version": 2, "accepted": TERMS, "payload": {"transaction": "AAAA"}} | payload
    kept = {name: value for name, value in sent.items() if value != "absent"}
    body = json.dumps({"paymentPayload": kept, "paymentRequirements": TERMS}).encode()
    payment = read_payment(body)
    assert isinstance(payment, Payment)
    return payment


def test_both_members_are_kept_to_the_letter() -> None:
    resource, bazaar = b'{ "url": "https://a.example/\xc3\xa9" }', b'{"price": 1.10, "price": 2e3}'
    said = read_discovery_text(resource, b'{"other": 1, "bazaar":' + bazaar + b"}")
    assert said == DiscoveryText(resource, bazaar)
    assert said.to_bytes() == b'{"resource":' + resource + b',"bazaar":' + bazaar + b"}"


def test_it_is_no_part_of_the_payment() -> None:
    plain = read()
    said = read(resource={"url": "https://a.example/"}, extensions={"bazaar": {"info": {}}})
    assert said.discovery is not None
    assert said.request_digest() == plain.request_digest()
    assert plain.discovery is None
    assert plain.kept_discovery is None


@pytest.mark.parametrize("extensions", [None, [], 7, "bazaar", {}, {"bazaar": None}, "absent"])
def test_without_the_extension_nothing_is_kept(extensions: object) -> None:
    assert read(resource={"url": "x"}, extensions=extensions).discovery is None


@pytest.mark.parametrize("resource", ["absent", None, 7, [], "text"])
def test_a_resource_of_any_kind_is_carried_for_the_catalog_to_judge(resource: object) -> None:
    said = read(resource=resource, extensions={"bazaar": {}}).kept_discovery
    assert said is not None
    kept = None if resource == "absent" else resource
    assert json.loads(said) == {"resource": kept, "bazaar": {}}


def test_too_much_is_not_kept_and_the_last_byte_counts() -> None:
    room = MAX_DISCOVERY_BYTES - len(DiscoveryText(b"", b"").to_bytes())
    fits = DiscoveryText(b"1" * 10, b"2" * (room - 10))
    assert not fits.is_oversized
    assert len(fits.to_bytes()) == MAX_DISCOVERY_BYTES
    assert DiscoveryText(fits.resource, fits.bazaar + b"2").is_oversized
    payment = read(extensions={"bazaar": {"text": "x" * MAX_DISCOVERY_BYTES}})
    assert payment.discovery is not None
    assert payment.kept_discovery is None


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_no_bytes_break_the_reader(resource: bytes, extensions: bytes) -> None:
    said = read_discovery_text(resource, extensions)
    assert said is None or isinstance(said, DiscoveryText)
