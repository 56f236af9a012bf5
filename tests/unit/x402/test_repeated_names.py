import base64
import json

import pytest

from farebox.kernel.json_text import has_repeated_name
from farebox.x402.headers import decode_header
from farebox.x402.reasons import Reason
from farebox.x402.wire import Unacceptable, read_payment

ONCE = [
    "{}",
    "1",
    '[{"a": 1}, {"a": 2}]',
    '{"a": {"a": {"a": "a"}}}',
    '{"a": "\\"a\\": 1, \\"a\\": 2"}',
    '{"A": 1, "a": 2}',
    '{"a\\\\u003a": "::", "b": "\\u003a\\u003A"}',
    '{"a": 1e400, "b": 123456789012345678901234567890}',
    '{"a": "\\ud800", "b": "\\ud800"}',
    '{"a": ' + "9" * 5_000 + "}",
    '{"a":' * 300 + "1" + "}" * 300,
]
TWICE = [
    '{"a": 1, "a": 1}',
    '{"a": 1, "\\u0061": 2}',
    '{"/": 1, "\\/": 2}',
    '{"": 1, "": 2}',
    '{"a": {"b": {"c": 1, "c": 2}}}',
    '[[{"a": null, "b": [], "a": null}]]',
    '{"a": "\\u003a", "a": 1}',
    '{"a": "\\u003A\\\\\\u003a", "a": 1}',
    '{"a": "\\\\u003a", "a": 1}',
    '{"a": ":::", "a": "::"}',
    '{"a": "\\ud800", "a": 1}',
    '{"a":' * 300 + '{"b": 1, "b": 2}' + "}" * 300,
    '{"a":' * 100_000 + "1" + "}" * 100_000,  # too deep to be distinguished from one that repeats
]


@pytest.mark.parametrize("text", ONCE, ids=lambda text: text[:40])
def test_unique_names_in_each_object_are_not_repeated(text: str) -> None:
    assert has_repeated_name(text.encode()) is False


@pytest.mark.parametrize("text", TWICE, ids=lambda text: text[:40])
def test_name_that_an_object_has_twice_is_repeated(text: str) -> None:
    assert has_repeated_name(text.encode()) is True


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"paymentPayload": {}, "paymentPayload": {}}', Reason.INVALID_PAYLOAD),
        ('{"paymentRequirements": {}, "paymentRequirements": {}}', Reason.INVALID_PAYLOAD),
        ('{"paymentPayload": {"payload": {"x": 1, "x": 1}}}', Reason.INVALID_PAYLOAD),
        ('{"paymentRequirements": {"x": 1, "x": 1}}', Reason.INVALID_PAYMENT_REQUIREMENTS),
        ('{"paymentRequirements": {"e": [{"x": 1, "x": 1}]}}', Reason.INVALID_PAYMENT_REQUIREMENTS),
        ('{"x402Version": 1, "x402Version": 2}', Reason.INVALID_PAYLOAD),
        ('{"unknown": {"x": 1, "x": 1}}', Reason.INVALID_PAYLOAD),
        ('{"x": 1, "x": 1', Reason.INVALID_JSON),
    ],
)
def test_body_with_a_repeated_name_is_refused_for_the_part_that_has_it(
    body: str, reason: Reason
) -> None:
    read = read_payment(body.encode())
    assert isinstance(read, Unacceptable)
    assert read.reason is reason


def test_header_with_a_repeated_name_is_none() -> None:
    once = {"payload": {"transaction": "A"}}
    twice = b'{"payload": {"transaction": "A", "transaction": "A"}}'
    assert decode_header(base64.b64encode(json.dumps(once).encode()).decode()) == once
    assert decode_header(base64.b64encode(twice).decode()) is None
