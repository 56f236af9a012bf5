"""A response becomes a result that claims no payment without proof."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from farebox.mcp.call_response import CallResponse, ToolResult, read_challenge, render_response

CHALLENGE = {"x402Version": 2, "accepts": [{"scheme": "exact"}]}
RECEIPT = {"success": True, "transaction": "ab"}


def header(value: object) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


def rendered(
    status: int,
    headers: Mapping[str, str],
    body: bytes = b"",
    *,
    own: bool = False,
    has_payment: bool = True,
) -> dict[str, Any]:
    pairs = list(headers.items())
    result = render_response(CallResponse(status, pairs, body, own), has_payment=has_payment)
    assert isinstance(result, ToolResult)
    return result.content


def test_challenge_is_read_from_the_header_or_from_the_body() -> None:
    in_header = CallResponse(402, [("payment-required", header(CHALLENGE))], b"")
    in_body = CallResponse(402, [], json.dumps(CHALLENGE).encode())
    assert read_challenge(in_header) == read_challenge(in_body) == CHALLENGE


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"\xff", b'{"x402Version":1,"accepts":[{}]}', b"[" * 9999]
)
def test_body_that_is_no_challenge_is_none(body: bytes) -> None:
    assert render_response(CallResponse(402, [], body), has_payment=False) is None


@pytest.mark.parametrize(
    ("status", "own", "headers", "outcome", "action"),
    [
        (402, True, {"payment-required": header(CHALLENGE)}, "not_sent", "SIGN_PAYMENT_AND_RETRY"),
        (402, False, {"payment-required": header(CHALLENGE)}, "unknown",
         "RECONCILE_BEFORE_SIGNING_AGAIN"),
        (402, True, {"payment-response": header({"success": False, "transaction": "ab",
         "errorReason": "x"})}, "failed", "SIGN_PAYMENT_AND_RETRY"),
        (503, True, {"retry-after": "5"}, "not_sent", "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT"),
        (503, True, {"payment-response": header({"success": False,
         "errorReason": "settlement_pending", "transaction": "ab"})}, "unknown",
         "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT"),
        (502, True, {"payment-response": header(RECEIPT), "retry-after": "5"},
         "settled_not_delivered", "WAIT_AND_RETRY_WITH_THE_SAME_PAYMENT"),
        (502, True, {"payment-response": header(RECEIPT)}, "settled_not_delivered",
         "RECONCILE_BEFORE_SIGNING_AGAIN"),
        (200, False, {}, "unknown", "RECONCILE_BEFORE_SIGNING_AGAIN"),
        (500, False, {}, "unknown", "RECONCILE_BEFORE_SIGNING_AGAIN"),
    ],
)  # fmt: skip
def test_failed_paid_call_says_outcome_and_next_action(
    status: int, own: bool, headers: dict[str, str], outcome: str, action: str
) -> None:
    content = rendered(status, headers, own=own)
    assert (content["outcome"], content["nextAction"]) == (outcome, action)


def test_receipt_makes_a_call_complete() -> None:
    content = rendered(200, {"payment-response": header(RECEIPT)}, b"text")
    assert (content["isPaid"], content["nextAction"]) == (True, "COMPLETE")
    assert "outcome" not in content


@pytest.mark.parametrize(
    "receipt", [{"success": True}, {"success": "true", "transaction": "ab"}, {"transaction": "ab"}]
)
def test_receipt_without_success_and_transaction_proves_nothing(receipt: object) -> None:
    assert rendered(200, {"payment-response": header(receipt)})["isPaid"] is False


def test_two_receipts_count_as_none() -> None:
    pairs = [("payment-response", header(RECEIPT))] * 2
    result = render_response(CallResponse(200, pairs, b""), has_payment=True)
    assert result is not None
    assert (result.content["isPaid"], result.content["receiptFault"]) == (False, "missing")


@pytest.mark.parametrize(
    ("kind", "body", "encoding", "shown"),
    [
        ("application/json", b'{"a":1}', "json", {"a": 1}),
        ("application/problem+json", b"[1]", "json", [1]),
        ("application/json", b"{", "text", "{"),
        ("application/json", b"[" * 200 + b"]" * 200, "text", "[" * 200 + "]" * 200),
        ("text/plain", b'{"a":1}', "text", '{"a":1}'),
        ("image/png", b"\x89PNG", "base64", "iVBORw=="),
    ],
)
def test_body_is_shown_as_json_text_or_base64(
    kind: str, body: bytes, encoding: str, shown: object
) -> None:
    content = rendered(200, {"content-type": kind}, body, has_payment=False)
    assert (content["bodyEncoding"], content["body"]) == (encoding, shown)


@pytest.mark.parametrize(
    "value", ["\u00b2", "9" * 5_000, "-1", "1.5", "Wed, 25 Nov 2026 00:00:00 GMT"]
)
def test_retry_after_that_is_no_number_of_seconds_is_left_out(value: str) -> None:
    assert rendered(503, {"retry-after": "3"})["retryAfterSeconds"] == 3
    assert "retryAfterSeconds" not in rendered(503, {"retry-after": value})
