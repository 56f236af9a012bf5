import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.buyer.offer import (
    Offer,
    Option,
    UnpayableOption,
    UnreadableOffer,
    printable,
    read_offer,
)
from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import USDC
from support.offers import SELLER, offer_header, offer_json, option_json


def read(header: str) -> Offer:
    offer = read_offer(header)
    assert isinstance(offer, Offer)
    return offer


def only_option(**changes: object) -> Option | UnpayableOption:
    (option,) = read(offer_header(option_json(**changes))).options
    return option


def test_offer_is_read_with_its_terms_kept_verbatim() -> None:
    entry = option_json() | {"unknownToUs": [1, {"deep": None}]}
    offer = read(offer_header(entry, extensions={"bazaar": {"info": {}}}))
    (option,) = offer.options
    assert isinstance(option, Option)
    assert option.raw == entry
    assert option.terms.network is Network.TESTNET
    assert option.terms.asset == USDC[Network.TESTNET].contract
    assert option.terms.amount == 500_000
    assert option.terms.pay_to == SELLER
    assert option.terms.max_timeout_s == 60
    assert (offer.error, offer.description) == ("Payment required", "Forecast")
    assert offer.extensions == {"bazaar": {"info": {}}}
    assert offer.resource == {"url": "http://seller.test/weather", "description": "Forecast"}


@pytest.mark.parametrize("flavour", ["unpadded", "url-safe", "spaced"])
def test_offer_is_read_from_every_base64_form(flavour: str) -> None:
    # "???>" makes both alphabets differ, "é" makes the text longer than ASCII
    raw = json.dumps(offer_json(error="é???>~~~"), ensure_ascii=False).encode()
    standard = base64.b64encode(raw).decode()
    header = {
        "unpadded": standard.rstrip("="),
        "url-safe": base64.urlsafe_b64encode(raw).decode(),
        "spaced": f"  {standard} ",
    }[flavour]
    assert read(header).error == "é???>~~~"


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (None, "no PAYMENT-REQUIRED header"),
        ("", "not base64 of a JSON object"),
        ("{}", "not base64"),
        (base64.b64encode(b"[]").decode(), "not base64 of a JSON object"),
        (base64.b64encode(b'{"x402Version":2,"error":"\xff"}').decode(), "not base64"),
        (offer_header(x402Version=1), "another version"),
        (offer_header(x402Version=True), "another version"),
        (offer_header(x402Version="2"), "another version"),
        (offer_header(accepts=[]), "no payment option"),
        (offer_header(accepts="exact"), "no payment option"),
    ],
)
def test_unreadable_offer_names_its_reason(header: str | None, why: str) -> None:
    offer = read_offer(header)
    assert isinstance(offer, UnreadableOffer)
    assert why in offer.reason


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"scheme": "upto"}, "scheme upto"),
        ({"scheme": None}, "scheme missing"),
        ({"network": "eip155:1"}, "network eip155:1"),
        ({"network": 5}, "network missing"),
        ({"asset": SELLER}, "plain Stellar address"),
        ({"payTo": "M" + "A" * 68}, "plain Stellar address"),
        ({"payTo": SELLER[:-1] + "A"}, "plain Stellar address"),
        ({"amount": "0"}, "positive whole number"),
        ({"amount": "-1"}, "positive whole number"),
        ({"amount": "1.0"}, "positive whole number"),
        ({"amount": "010"}, "positive whole number"),
        ({"amount": 500000}, "positive whole number"),
        ({"maxTimeoutSeconds": 0}, "maxTimeoutSeconds"),
        ({"maxTimeoutSeconds": 60.5}, "maxTimeoutSeconds"),
        ({"maxTimeoutSeconds": True}, "maxTimeoutSeconds"),
        ({"maxTimeoutSeconds": 86_401}, "maxTimeoutSeconds"),
        ({"extra": None}, "not sponsored"),
        ({"extra": {"areFeesSponsored": 1}}, "not sponsored"),
        ({"extra": {"areFeesSponsored": True, "paymentFlow": "escrow"}}, "payment flow escrow"),
        ({"extra": {"areFeesSponsored": True, "paymentFlow": []}}, "payment flow missing"),
    ],
)
def test_unpayable_option_names_its_reason(changes: dict[str, object], why: str) -> None:
    option = only_option(**changes)
    assert isinstance(option, UnpayableOption)
    assert why in option.reason


def test_option_that_is_no_object_is_unpayable() -> None:
    offer = read(offer_header(accepts=[None]))
    assert offer.options == (UnpayableOption("it is not a JSON object"),)


def test_upfront_payment_flow_is_read() -> None:
    option = only_option(extra={"areFeesSponsored": True, "paymentFlow": "upfront"})
    assert isinstance(option, Option)
    assert option.is_charged_before_work


def test_printable_removes_control_characters_and_cuts_long_text() -> None:
    shown = printable("pay\x1b]0;owned\x07 me\r\nnow\u202e \x9b2J ok")
    assert shown == "pay ]0;owned me now 2J ok"
    assert printable("x" * 500) == "x" * 199 + "…"
    assert printable(7) == ""


@given(st.text())
def test_read_offer_returns_a_value_for_any_header(header: str) -> None:
    assert isinstance(read_offer(header), Offer | UnreadableOffer)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.sampled_from(sorted(option_json())), json_values)
def test_read_offer_returns_a_value_for_any_member(member: str, value: object) -> None:
    assert isinstance(only_option(**{member: value}), Option | UnpayableOption)
