"""The responses of the gateway to requests that are paid and were not delivered."""

from datetime import UTC, datetime
from typing import Final

import pytest

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.offers.offer import WrapperOffer
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.gateway.responses import ResponseContext
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.networks import Network

PARTY: Final = Address("GBAO7UE7J4JIDJZ2UN7LPCTTIS4ULPZXJAWXKR3UDR5FIYIHPX7J5CQ4")
PAID: Final = GatewayPayment(
    identity=PaymentIdentity(Network.TESTNET, PARTY, 1),
    wrapper_id="wrap_1",
    owner=OwnerId("user_1"),
    slug="weather",
    binding=bytes(32),
    request_digest=bytes(32),
    presented_digest=None,
    asset=PARTY,
    amount=BaseUnits(1),
    pay_to=PARTY,
    state=PaymentState.PAID,
    tx_hash="ab" * 32,
    attempts=5,
    epoch=5,
    attempt_until=None,
    may_repeat=True,
    reserved_at=datetime(2026, 1, 1, tzinfo=UTC),
    paid_at=datetime(2026, 1, 1, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("code", "attempts_left", "has_retry"),
    [
        (ErrorCode.SERVICE_UNAVAILABLE, 1, True),
        (ErrorCode.SERVICE_UNAVAILABLE, 0, True),
        (ErrorCode.UPSTREAM_FAILED, 1, True),
        (ErrorCode.UPSTREAM_FAILED, 0, False),
    ],
)
def test_paid_request_is_told_when_to_repeat_where_that_may_help(
    code: ErrorCode, attempts_left: int, *, has_retry: bool
) -> None:
    """Control: a build that looks at the attempts alone gives a 503 without `Retry-After`."""
    context = ResponseContext(WrapperOffer((), {}, {}), "0" * 16, "https://pay.example/v1/payments")
    response = context.settled_error(PAID, code, "It failed.", attempts_left=attempts_left)
    assert response.status == code.status
    assert (b"retry-after" in dict(response.headers)) is has_retry
    assert b"payment-response" in dict(response.headers)
