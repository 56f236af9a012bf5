"""The discovery text of a payment: kept as sent, and no part of the payment itself."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.x402.extensions import MAX_DISCOVERY_BYTES, DiscoveryText, read_discovery_text
from farebox.x402.payment import Payment
from farebox.x402.wire import read_payment
from support.journal_rows import ASSET, SELLER

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


def test_discovery_text_keeps_both_members_byte_for_byte() -> None:
    resource, bazaar = b'{ "url": "https://a.example/\xc3\xa9" }', b'{"price": 1.10, "price": 2e3}'
    text = read_discovery_text(resource, b'{"other": 1, "bazaar":' + bazaar + b"}")
    assert text == DiscoveryText(resource, bazaar)
    assert text.to_bytes() == b'{"resource":' + resource + b',"bazaar":' + bazaar + b"}"


def test_discovery_text_does_not_change_the_request_digest() -> None:
    plain = read()
    text = read(resource={"url": "https://a.example/"}, extensions={"bazaar": {"info": {}}})
    assert text.discovery is not None
    assert text.request_digest() == plain.request_digest()
    assert plain.discovery is None
    assert plain.stored_discovery is None


@pytest.mark.parametrize("extensions", [None, [], 7, "bazaar", {}, {"bazaar": None}, "absent"])
def test_discovery_text_is_none_without_the_extension(extensions: object) -> None:
    assert read(resource={"url": "x"}, extensions=extensions).discovery is None


@pytest.mark.parametrize("resource", ["absent", None, 7, [], "text"])
def test_resource_of_any_json_type_is_kept_for_the_catalog(resource: object) -> None:
    text = read(resource=resource, extensions={"bazaar": {}}).stored_discovery
    assert text is not None
    kept = None if resource == "absent" else resource
    assert json.loads(text) == {"resource": kept, "bazaar": {}}


def test_oversized_discovery_text_is_not_stored() -> None:
    room = MAX_DISCOVERY_BYTES - len(DiscoveryText(b"", b"").to_bytes())
    fits = DiscoveryText(b"1" * 10, b"2" * (room - 10))
    assert not fits.is_oversized
    assert len(fits.to_bytes()) == MAX_DISCOVERY_BYTES
    assert DiscoveryText(fits.resource, fits.bazaar + b"2").is_oversized
    payment = read(extensions={"bazaar": {"text": "x" * MAX_DISCOVERY_BYTES}})
    assert payment.discovery is not None
    assert payment.stored_discovery is None


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_read_discovery_text_raises_for_no_bytes(resource: bytes, extensions: bytes) -> None:
    text = read_discovery_text(resource, extensions)
    assert text is None or isinstance(text, DiscoveryText)
