"""What is said when a request to settle met no journal: it speaks of that request alone."""

import json

import pytest

from farebox.facilitator.http import SETTLE, failure_bodies
from farebox.web.errors import Failure


@pytest.mark.parametrize(
    "code",
    ["service_unavailable", "too_many_requests", "unauthenticated", "scope_missing", "strange"],
)
def test_whoever_was_not_looked_up_is_not_told_that_nothing_was_sent(code: str) -> None:
    """It may be the repeat of one whose envelope is with the network."""
    body = json.loads(failure_bodies()[SETTLE](Failure(503, code, "", "r")))
    assert body["success"] is False
    assert "nothing was sent" not in body["errorMessage"]
