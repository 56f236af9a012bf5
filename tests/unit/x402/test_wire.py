import base64
import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.kernel.networks import Network
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason, explain
from farebox.x402.wire import MAX_TIMEOUT_S, Unacceptable, read_payment, read_requirements

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


def test_payment_is_read_into_values() -> None:
    payment = read_payment(body())
    assert isinstance(payment, Payment)
    assert payment.transaction.reveal() == b"an envelope"
    terms = payment.terms
    assert (terms.network, terms.asset, terms.pay_to) == (Network.TESTNET, ASSET, SELLER)
    assert (terms.amount, terms.max_timeout_s) == (10_000, 60)


@pytest.mark.parametrize(("two", "minute"), [("2.0", "60.0"), ("2e0", "6e1"), ("20e-1", "0.6e2")])
def test_integers_are_read_however_they_are_written(two: str, minute: str) -> None:
    written = body().replace(b'"x402Version": 2', f'"x402Version": {two}'.encode())
    written = written.replace(b"60", minute.encode())
    read, plain = read_payment(written), read_payment(body())
    assert isinstance(read, Payment)
    assert isinstance(plain, Payment)
    assert read.terms == plain.terms
    assert type(read.terms.max_timeout_s) is int
    assert read.request_digest() == plain.request_digest()


@pytest.mark.parametrize("number", ["60.00000000000000001", "59.5", "1e400", '"60"', "true"])
def test_time_that_is_no_integer_is_refused(number: str) -> None:
    assert reason_of(body().replace(b"60", number.encode())) in {
        Reason.INVALID_PAYMENT_REQUIREMENTS,
        Reason.INVALID_PAYLOAD,
    }


def test_flat_payload_takes_its_terms_from_the_requirements() -> None:
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
        ({"accepted": TERMS | {"maxTimeoutSeconds": 60.0}}, None),
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
def test_payload_is_refused_when_it_does_not_match_the_requirements(
    payload: Json, reason: Reason | None
) -> None:
    assert reason_of(body(**payload)) == reason


@pytest.mark.parametrize("amount", ["", "0", "01", "+1", "-1", "1\n", " 1", "1_0", "٣", "1e4", 1])
def test_amount_that_is_not_canonical_is_refused(amount: object) -> None:
    assert reason_of(body(TERMS | {"amount": amount})) is Reason.INVALID_PAYMENT_REQUIREMENTS


BIG = [b"1e30", b"1e100", b"1e400", b"-1e400", b"1e" + b"9" * 20, b"9" * 4_300, b"9" * 4_301]
TOO_LARGE = [b"1e400", b"9" * 4_301, b"-" + b"9" * 4_301]
TIMEOUTS = [b"0", b"-1", b"60.5", b'"60"', b"true", b"null", b"[60]", b"86401", b"86400.5", *BIG]


def test_timeout_is_read_up_to_its_bound() -> None:
    """Control: a bound that the sentence and the schema do not say."""
    for written in (b"1", b"86400", b"86400.0", b"8.64e4"):
        assert isinstance(read_payment(body().replace(b"60", written)), Payment)
    for reason in (Reason.INVALID_PAYMENT_REQUIREMENTS, Reason.INVALID_PAYLOAD):
        assert f"maxTimeoutSeconds is no integer from 1 to {MAX_TIMEOUT_S}" in (
            explain(reason).sentence.replace("maxTimeoutSeconds of accepted", "maxTimeoutSeconds")
        )


@pytest.mark.parametrize("written", TIMEOUTS, ids=lambda each: each[:22].decode())
def test_timeout_of_both_is_an_integer_within_the_same_bounds(written: bytes) -> None:
    """Control: `accepted` held to another rule than the requirements."""
    name, both = "maxTimeoutSeconds", body().replace(b"60", written)
    in_terms = Unacceptable(
        Reason.INVALID_PAYMENT_REQUIREMENTS, "stellar:testnet", f"paymentRequirements.{name}"
    )
    assert read_payment(both) == in_terms
    assert read_payment(body().replace(b"60", written, 1)) == Unacceptable(
        Reason.INVALID_PAYLOAD, "stellar:testnet", f"paymentPayload.accepted.{name}"
    )


def test_payment_whose_accepted_has_no_timeout_is_malformed() -> None:
    """Every stock client copies the requirement that it accepts, with all of its members."""
    short = {name: value for name, value in TERMS.items() if name != "maxTimeoutSeconds"}
    read = read_payment(body(accepted=short))
    assert isinstance(read, Unacceptable)
    assert read.reason is Reason.INVALID_PAYLOAD
    assert read.member == "paymentPayload.accepted.maxTimeoutSeconds"


@pytest.mark.parametrize("written", BIG, ids=lambda each: each[:22].decode())
def test_version_is_another_one_however_large_the_number(written: bytes) -> None:
    """Control: a number that no float holds called no JSON."""
    versioned = body().replace(b"{", b'{"x402Version": %s, ' % written, 1)
    assert read_payment(versioned) == Unacceptable(
        Reason.INVALID_X402_VERSION, member="x402Version"
    )
    inside = body().replace(b'"x402Version": 2', b'"x402Version": %s' % written)
    assert read_payment(inside) == Unacceptable(
        Reason.INVALID_X402_VERSION, "stellar:testnet", "paymentPayload.x402Version"
    )


@pytest.mark.parametrize("member", ["asset", "amount", "payTo"])
def test_member_with_a_number_too_large_is_named(member: str) -> None:
    """Control: an integer with more digits than Python reads, of which only the parent is named."""
    changed = TERMS | {member: 77}
    for raw, written in product((body(changed), body(changed, accepted=TERMS)), TOO_LARGE):
        read = read_payment(raw.replace(b"77", written))
        assert isinstance(read, Unacceptable), written[:9]
        assert read.member.rpartition(".")[2] == member, written[:9]
    for written in TOO_LARGE:
        read = read_payment(body(accepted=changed).replace(b"77", written))
        assert isinstance(read, Unacceptable), written[:9]
        assert read.member == f"paymentPayload.accepted.{member}", written[:9]


def test_member_that_cannot_be_decoded_is_named_as_far_as_the_schema_knows_it() -> None:
    """A name that only the request has is not repeated."""
    payload = {"x402Version": 2, "accepted": TERMS, "payload": {"secret": [1, 77]}}
    for changed, member in (
        (payload, "payload"),
        (payload | {"accepted": "text"}, "accepted"),
        (
            payload | {"accepted": TERMS | {"extra": {"secret": 77}}, "payload": {}},
            "accepted.extra",
        ),
    ):
        raw = json.dumps({"paymentPayload": changed, "paymentRequirements": TERMS}).encode()
        read = read_payment(raw.replace(b"77", b"9" * 4_301))
        assert isinstance(read, Unacceptable), member
        assert read.member == f"paymentPayload.{member}"


def test_number_too_large_in_a_member_that_is_not_read_does_no_harm() -> None:
    more = TERMS | {"note": 77, "extra": TERMS["extra"] | {"note": 77}}
    assert isinstance(read_payment(body(more).replace(b"77", b"1e400")), Payment)


@pytest.mark.parametrize(
    "raw",
    [
        body(TERMS | {"note": "\ud800"}),
        body(resource={"url": "https://a.example/\udc00"}),
        body().replace(b'"exact"', b'"\xff"'),
        body().replace(b'"payload"', b'"note": "\xed\xa0\x80", "payload"'),
        body().replace(b'"scheme"', b'"note": ' + b"[" * 2_000 + b"]" * 2_000 + b', "scheme"'),
    ],
)  # fmt: skip
def test_body_that_cannot_be_read_is_told_each_cause(raw: bytes) -> None:
    assert read_payment(raw) == Unacceptable(Reason.INVALID_JSON)
    sentence = explain(Reason.INVALID_JSON).sentence
    assert all(each in sentence for each in ("UTF-8", "nested too deeply", "surrogate pair"))


@pytest.mark.parametrize("sponsored", [False, "true", 1, None])
def test_terms_without_sponsored_fees_are_refused(sponsored: object) -> None:
    terms = TERMS | {"extra": {"areFeesSponsored": sponsored}}
    assert reason_of(body(terms)) is Reason.FEES_NOT_SPONSORED


def test_request_digest_is_equal_for_equal_terms() -> None:
    one, other = read_payment(body()), read_payment(body(TERMS | {"note": "else"}))
    longer = read_payment(body(TERMS | {"maxTimeoutSeconds": 61}))
    assert isinstance(one, Payment)
    assert isinstance(other, Payment)
    assert isinstance(longer, Payment)
    assert one.request_digest() == other.request_digest() != longer.request_digest()


@given(st.binary(max_size=400))
def test_read_payment_raises_for_no_bytes(raw: bytes) -> None:
    assert isinstance(read_payment(raw), Payment | Unacceptable)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(sorted(TERMS)), JSON, st.booleans())
def test_read_payment_returns_a_value_for_any_member(
    member: str, value: object, on_both: bool
) -> None:
    changed = TERMS | {member: value}
    raw = body(changed) if on_both else body(changed, accepted=TERMS)
    assert isinstance(read_payment(raw), Payment | Unacceptable)


@pytest.mark.parametrize(
    ("raw", "member"),
    [
        (b"{}", "paymentPayload"),
        (b"[", ""),
        (body(TERMS | {"payTo": "G"}), "paymentRequirements.payTo"),
        (body(TERMS | {"asset": None}), "paymentRequirements.asset"),
        (body(TERMS | {"amount": 1}), "paymentRequirements.amount"),
        (body(TERMS | {"maxTimeoutSeconds": 0}), "paymentRequirements.maxTimeoutSeconds"),
        (body(TERMS | {"extra": {}}), "paymentRequirements.extra.areFeesSponsored"),
        (body(TERMS | {"network": "stellar:x"}), "paymentRequirements.network"),
        (body(accepted="absent"), "paymentPayload.accepted"),
        (body(accepted=TERMS | {"payTo": ASSET}), "paymentPayload.accepted.payTo"),
        (body(x402Version=1), "paymentPayload.x402Version"),
        (body(payload=None), "paymentPayload.payload"),
        (body(payload={"transaction": "AAB="}), "paymentPayload.payload.transaction"),
    ],
)
def test_refused_body_names_the_member_to_change(raw: bytes, member: str) -> None:
    read = read_payment(raw)
    assert isinstance(read, Unacceptable)
    assert read.member == member


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"scheme": "upto"},
        {"network": "eip155:1"},
        {"network": None},
        {"amount": "01"},
        {"payTo": "M" + "A" * 68},
        {"maxTimeoutSeconds": 60.5},
        {"extra": None},
        {"more": [1, 2]},
    ],
)
def test_requirements_alone_are_read_like_those_of_a_payment(changes: Json) -> None:
    terms = TERMS | changes
    alone, payment = read_requirements(json.dumps(terms).encode()), read_payment(body(terms))
    if isinstance(payment, Payment):
        assert alone == payment.terms
    else:
        assert isinstance(alone, Unacceptable)
        assert (alone.reason, alone.member) == (payment.reason, payment.member)


def test_unreadable_member_of_requirements_alone_is_named() -> None:
    raw = json.dumps(TERMS | {"asset": 77}).encode()
    read = read_requirements(raw.replace(b"77", b"9" * 4_301))
    assert isinstance(read, Unacceptable)
    assert read.member == "paymentRequirements.asset"


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"null", b"7", b"{", b'{"amount":"1","amount":"2"}', b"[" * 5_000]
)
def test_text_that_is_no_requirements_is_refused(raw: bytes) -> None:
    read = read_requirements(raw)
    assert isinstance(read, Unacceptable)
    assert read.reason is Reason.INVALID_PAYMENT_REQUIREMENTS
