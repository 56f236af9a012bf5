"""The response to a request to settle that failed before the journal was read."""

import json

import pytest

from farebox.facilitator.settle_http import render_settle_failure
from farebox.kernel.error_codes import ErrorCode
from farebox.web.error_responses import Failure


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.SERVICE_UNAVAILABLE,
        ErrorCode.TOO_MANY_REQUESTS,
        ErrorCode.UNAUTHENTICATED,
        ErrorCode.SCOPE_MISSING,
        ErrorCode.INVALID_CURSOR,  # has no reason
    ],
)
def test_failure_before_the_journal_is_read_does_not_claim_nothing_was_sent(
    code: ErrorCode,
) -> None:
    """The request may repeat one whose envelope was sent to the network."""
    body = json.loads(render_settle_failure(Failure(code, "", "r")))
    assert body["success"] is False
    assert "nothing was sent" not in body["errorMessage"]
