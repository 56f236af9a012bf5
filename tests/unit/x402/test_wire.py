import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.kernel.networks import Network
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason
from farebox.x402.wire import Unacceptable, read_payment

Json = dict[str, Any]
ASSET = "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"
SELLER = "GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5"
TERMS: Json = {
    "scheme": "exact",
    "network": "stellar:testnet",
    "asset": ASSET,
    "amount": "10000",
    "payTo": SELLER,
    "maxTimeoutSeconds": 60,
    "extra": {"areFeesSponsored": True},
}
ENVELOPE = base64.b64encode(b"an envelope").decode()


def body(terms: Json | None = None, **payload: object) -> bytes:
    required = TERMS if terms is None else terms
    sent = {"x402Version": 2, "accepted": required, "payload": {"transaction": ENVELOPE}} | payload
    kept = {name: value for name, value in sent.items() if value != "absent"}
    return json.dumps({"paymentPayload": kept, "paymentRequirements": required}).encode()


def reason_of(raw: bytes) -> Reason | None:
    read = read_payment(raw)
    return read.reason if isinstance(read, Unacceptable) else None


def test_a_payment_is_read_into_values() -> None:
    payment = read_payment(body())
    assert isinstance(payment, Payment)
    assert payment.transaction.reveal() == b"an envelope"
    terms = payment.terms
    assert (terms.network, terms.asset, terms.pay_to) == (Network.TESTNET, ASSET, SELLER)
    assert (terms.amount, terms.max_timeout_s) == (10_000, 60)


def test_the_flat_form_takes_its_terms_from_the_requirements() -> None:
    flat = read_payment(body(accepted="absent", scheme="exact", network="stellar:testnet"))
    upstream = read_payment(body())
    assert isinstance(flat, Payment)
    assert isinstance(upstream, Payment)
    assert flat.terms == upstream.terms
    assert flat.request_digest() == upstream.request_digest()


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"accepted": "absent"}, Reason.INVALID_PAYLOAD),
        ({"accepted": "absent", "scheme": "exact"}, Reason.INVALID_PAYLOAD),
        ({"network": "stellar:pubnet"}, Reason.NETWORK_MISMATCH),
        ({"scheme": "upto"}, Reason.UNSUPPORTED_SCHEME),
        ({"accepted": TERMS | {"amount": "9999"}}, Reason.ACCEPTED_MISMATCH),
        ({"accepted": TERMS | {"extra": {}}}, Reason.ACCEPTED_MISMATCH),
        ({"accepted": TERMS | {"maxTimeoutSeconds": 61}}, None),
        ({"accepted": None}, Reason.INVALID_PAYLOAD),
        ({"payload": "absent"}, Reason.INVALID_PAYLOAD),
        ({"payload": {}}, Reason.MALFORMED),
        ({"payload": {"transaction": 5}}, Reason.MALFORMED),
        ({"payload": {"transaction": ENVELOPE + "\n"}}, Reason.MALFORMED),
        ({"payload": {"transaction": ENVELOPE.rstrip("=")}}, Reason.MALFORMED),
        ({"payload": {"transaction": "AAA="}}, None),
        ({"payload": {"transaction": "AAB="}}, Reason.MALFORMED),
    ],
)
def test_both_spellings_of_a_payload_are_held_together(
    payload: Json, reason: Reason | None
) -> None:
    assert reason_of(body(**payload)) == reason


@pytest.mark.parametrize("amount", ["", "0", "01", "+1", "-1", "1\n", " 1", "1_0", "٣", "1e4", 1])
def test_an_amount_that_is_not_canonical_is_refused(amount: object) -> None:
    assert reason_of(body(TERMS | {"amount": amount})) is Reason.INVALID_PAYMENT_REQUIREMENTS


@pytest.mark.parametrize("timeout", [0, -1, 60.0, "60", True, None, 86_401])
def test_a_timeout_is_a_positive_whole_number_of_seconds(timeout: object) -> None:
    terms = TERMS | {"maxTimeoutSeconds": timeout}
    assert reason_of(body(terms)) is Reason.INVALID_PAYMENT_REQUIREMENTS


@pytest.mark.parametrize("sponsored", [False, "true", 1, None])
def test_fees_must_be_sponsored(sponsored: object) -> None:
    terms = TERMS | {"extra": {"areFeesSponsored": sponsored}}
    assert reason_of(body(terms)) is Reason.FEES_NOT_SPONSORED


def test_terms_that_say_the_same_make_one_request() -> None:
    one, other = read_payment(body()), read_payment(body(TERMS | {"note": "else"}))
    longer = read_payment(body(TERMS | {"maxTimeoutSeconds": 61}))
    assert isinstance(one, Payment)
    assert isinstance(other, Payment)
    assert isinstance(longer, Payment)
    assert one.request_digest() == other.request_digest() != longer.request_digest()


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    assert isinstance(read_payment(raw), Payment | Unacceptable)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(sorted(TERMS)), JSON, st.booleans())
def test_any_value_in_any_place_gets_an_answer(member: str, value: object, on_both: bool) -> None:
    changed = TERMS | {member: value}
    raw = body(changed) if on_both else body(changed, accepted=TERMS)
    assert isinstance(read_payment(raw), Payment | Unacceptable)
