"""The payment of a buyer, held against an offer."""

import base64
import hashlib
import json
from typing import Any, Final

import msgspec
import pytest

from farebox.gateway.offers.offer import WrapperOffer
from farebox.gateway.offers.presented_payment import (
    NotTheTerms,
    PresentedPayment,
    read_presented_payment,
    read_retried_payment,
)
from farebox.x402.extensions import PAYMENT_IDENTIFIER_DECLARATION
from farebox.x402.payment_header import HeaderFault
from farebox.x402.reasons import Reason
from farebox.x402.wire import Unacceptable

TERMS: Final[dict[str, Any]] = {
    "scheme": "exact",
    "network": "stellar:testnet",
    "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
    "amount": "10000",
    "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
    "maxTimeoutSeconds": 60,
    "extra": {"areFeesSponsored": True, "paymentFlow": "upfront"},
}
UNWHOLE: Final = TERMS | {"maxTimeoutSeconds": 60.5}
UNTIMED: Final = {name: value for name, value in TERMS.items() if name != "maxTimeoutSeconds"}
EURO: Final = TERMS | {"asset": "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC"}
OFFER: Final = WrapperOffer(
    (TERMS, EURO), {"url": "https://pay.example.com/gateway/weather"}, {"info": {}, "schema": {}}
)
TRANSACTION: Final = base64.b64encode(b"envelope").decode()


def payload(**members: Any) -> dict[str, Any]:
    own = {"x402Version": 2, "accepted": TERMS, "payload": {"transaction": TRANSACTION}}
    return own | members


PLAIN: Final = json.dumps(payload()).encode()


def header(value: object) -> bytes:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.b64encode(text)


def read(value: object) -> PresentedPayment | HeaderFault | NotTheTerms | Unacceptable:
    return read_presented_payment([header(value)], OFFER)


def test_payment_has_the_accepted_terms_and_the_transaction() -> None:
    presented = read(payload(accepted=EURO))
    assert isinstance(presented, PresentedPayment)
    terms = presented.payment.terms
    assert (terms.asset, terms.amount, terms.max_timeout_s) == (EURO["asset"], 10_000, 60)
    assert presented.payment.transaction.reveal() == b"envelope"


def test_discovery_data_of_the_buyer_is_replaced_by_that_of_the_offer() -> None:
    forged = {
        "resource": {"url": "https://thief.example.org/"},
        "extensions": {"bazaar": {"info": {"input": {}}, "schema": {"forged": True}}},
    }
    presented = read(payload(**forged))
    assert isinstance(presented, PresentedPayment)
    assert presented.payment.stored_discovery is not None
    stored = msgspec.json.decode(presented.payment.stored_discovery)
    assert stored == {"resource": OFFER.resource, "bazaar": OFFER.discovery}


def test_payment_identifier_of_the_buyer_stays() -> None:
    identifier = {"info": {"required": False, "id": "pay_0123456789abcdef"}, "schema": {}}
    presented = read(payload(extensions={"payment-identifier": identifier}))
    assert isinstance(presented, PresentedPayment)
    assert presented.payment.identifier == "pay_0123456789abcdef"


def test_digest_is_that_of_the_very_bytes_and_an_identifier_makes_them_private() -> None:
    identifier = {"info": {"required": False, "id": "pay_0123456789abcdef"}}
    value = header(payload(extensions={"payment-identifier": identifier}))
    presented = read_presented_payment([value], OFFER)
    assert isinstance(presented, PresentedPayment)
    assert presented.digest == hashlib.sha256(value).digest()
    assert presented.is_private
    echoed = {"payment-identifier": PAYMENT_IDENTIFIER_DECLARATION}  # by a client without an id
    public = read(payload(extensions=echoed))
    assert isinstance(public, PresentedPayment)
    assert not public.is_private
    assert public.digest != presented.digest


def test_retried_payment_has_the_request_digest_that_it_was_settled_by() -> None:
    """Whatever a client has made of `maxTimeoutSeconds`, which no term compares."""
    value = header(payload(accepted=TERMS | {"maxTimeoutSeconds": 7}))
    presented, retried = read_presented_payment([value], OFFER), read_retried_payment([value])
    assert isinstance(presented, PresentedPayment)
    assert retried is not None
    assert retried.payment.request_digest() == presented.payment.request_digest()
    assert retried.digest == presented.digest
    assert read_retried_payment([value, value]) is None


@pytest.mark.parametrize("network", ["stellar:testnet", "stellar:nowhere", 7, []])
@pytest.mark.parametrize("transaction", [TRANSACTION, "%", 7])
def test_retry_of_the_flat_form_without_a_signed_transfer_has_no_terms(
    network: object, transaction: object
) -> None:
    flat = payload(scheme="exact", network=network, payload={"transaction": transaction})
    del flat["accepted"]
    assert read_retried_payment([header(flat)]) is None
    assert read_retried_payment([header({"network": network})]) is None


def test_payment_without_accepted_takes_the_only_terms_of_its_network() -> None:
    flat = payload(scheme="exact", network="stellar:testnet")
    del flat["accepted"]
    one = WrapperOffer((TERMS,), OFFER.resource, OFFER.discovery)
    assert isinstance(read_presented_payment([header(flat)], one), PresentedPayment)
    assert read(flat) is NotTheTerms.NO_MATCH


@pytest.mark.parametrize(
    "changed",
    [
        {"amount": "9999"},
        {"amount": 10_000},
        {"asset": TERMS["payTo"]},
        {"payTo": "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI"},
        {"network": "stellar:pubnet"},
        {"scheme": "upto"},
    ],
)
def test_terms_that_are_not_the_wrapper_s_match_nothing(changed: dict[str, Any]) -> None:
    assert read(payload(accepted=TERMS | changed)) is NotTheTerms.NO_MATCH


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ([b"%%%"], HeaderFault.NOT_BASE64),
        ([b"caf\xe9"], HeaderFault.NOT_BASE64),
        ([header(payload()), header(payload())], HeaderFault.REPEATED),
        ([header(payload()) + b"," + header(payload())], HeaderFault.NOT_BASE64),
        ([b""], HeaderFault.NOT_JSON),
        ([header(b"[]")], HeaderFault.NOT_JSON),
        ([header(b"no json")], HeaderFault.NOT_JSON),
        ([header(b"\xff\xfe")], HeaderFault.NOT_JSON),
        ([header(b"[" * 100_000)], HeaderFault.NOT_JSON),
        ([header(b'{"x402Version": 2, "x402Version": 2}')], HeaderFault.NOT_JSON),
        ([header(b'{"x402Version": 2, "note": "\\ud800"}')], HeaderFault.NOT_JSON),
        ([header(payload(accepted=None))], HeaderFault.NOT_A_PAYMENT),
        ([header(PLAIN.replace(b"60", b"1e400"))], HeaderFault.NOT_A_PAYMENT),
        ([header(PLAIN.replace(b"60", b"1e30"))], HeaderFault.NOT_A_PAYMENT),
        ([header(payload(accepted=UNTIMED))], HeaderFault.NOT_A_PAYMENT),
        ([header(payload(x402Version=1))], HeaderFault.NOT_A_PAYMENT),
        ([header(payload(payload={"transaction": "%"}))], HeaderFault.NOT_A_PAYMENT),
        ([header(payload(payload=[]))], HeaderFault.NOT_A_PAYMENT),
        ([header(payload(accepted=UNWHOLE))], HeaderFault.NOT_A_PAYMENT),
    ],
)  # fmt: skip
def test_header_without_a_payment_has_a_fault(values: list[bytes], fault: HeaderFault) -> None:
    assert read_presented_payment(values, OFFER) is fault


def test_payment_that_can_be_read_and_not_settled_keeps_its_reason() -> None:
    unsponsored = read(payload(accepted=TERMS | {"extra": {}}))
    assert isinstance(unsponsored, Unacceptable)
    assert unsponsored.reason is Reason.ACCEPTED_MISMATCH
