"""The schemas of the tools fit every kind of result: MCP clients judge results by them."""

from typing import Any

import jsonschema_rs
import pytest

from farebox.mcp.call_response import CallResponse, ToolResult, render_response
from farebox.mcp.tools import TOOLS

CHALLENGE = b'{"x402Version":2,"accepts":[{"scheme":"exact"}]}'


def judge(content: dict[str, Any]) -> bool:
    (schema,) = (each["outputSchema"] for each in TOOLS if each["name"] == "paid_call")
    return jsonschema_rs.Draft202012Validator(schema).is_valid(content)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("has_payment", [True, False])
@pytest.mark.parametrize(("status", "body"), [(402, CHALLENGE), (200, b"sunny"), (500, b"\xff")])
def test_output_schema_of_paid_call_fits_challenges_and_responses(
    status: int, body: bytes, *, has_payment: bool, own: bool
) -> None:
    result = render_response(CallResponse(status, [], body, own), has_payment=has_payment)
    assert isinstance(result, ToolResult)
    assert judge(result.content), result.content


def test_output_schema_of_paid_call_refuses_what_is_neither() -> None:
    assert not judge({"nextAction": "COMPLETE"})
    assert not judge({"status": 200, "bodyEncoding": "text", "body": "", "isPaid": True})
