"""The `Idempotency-Key` header of a request to settle."""

import pytest

from farebox.facilitator.settling.settle_request import read_idempotency_key
from farebox.x402.reasons import Reason


@pytest.mark.parametrize(
    "key", ["x", "~" * 255, '"quoted"', "8e03978e-40d5-43e8-bc93-6894a57f9324"]
)
def test_any_visible_ascii_key_is_read(key: str) -> None:
    assert read_idempotency_key([key.encode()]) == key


@pytest.mark.parametrize("key", ["", " ", "a b", "ä", "x" * 256, "a\tb", "a\n"])
def test_malformed_key_is_invalid(key: str) -> None:
    assert read_idempotency_key([key.encode()]) is Reason.INVALID_IDEMPOTENCY_KEY


def test_second_key_is_invalid_and_request_without_key_has_none() -> None:
    assert read_idempotency_key([b"x", b"x"]) is Reason.INVALID_IDEMPOTENCY_KEY
    assert read_idempotency_key([]) is None
