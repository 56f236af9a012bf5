"""A request to the gateway as it was received, and the buyer's connection that it came by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from farebox.facilitator.settlement import NotSettled
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.gateway.delivery.pass_response import ResponseWriter
from farebox.gateway.payment import BuyerRequest, GatewayPayment
from farebox.gateway.relay.received_body import ReceivedBody
from farebox.kernel.caller import Caller
from farebox.x402.payment import Payment


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """A request to a wrapper; its body is still to come."""

    slug: str
    method: str  # one of `METHODS`
    path: str  # below the wrapper's URL: empty, or with a leading slash
    query: str | None
    headers: Sequence[tuple[bytes, bytes]]
    signatures: Sequence[bytes]  # the values of `PAYMENT-SIGNATURE`; empty for an unpaid request
    client: str
    request_id: str

    def bind(self, body_digest: bytes) -> BuyerRequest:
        """Return the parts that its payment is bound to."""
        return BuyerRequest(self.slug, self.method, self.path, self.query, body_digest)


class BuyerStream(ResponseWriter, Protocol):
    """The buyer's connection; every method raises `BuyerLeft`."""

    @property
    def status(self) -> int:
        """The status of the response that was started; 0 without one."""
        ...

    async def receive_body(self, body: ReceivedBody, *, limit_bytes: int) -> None:
        """Receive the whole body of the request.

        Raises:
            Refusal: it is too large, or too slow.
        """
        ...

    def show_receipt(self, payment: GatewayPayment) -> None:
        """Add the receipt of the payment to the response."""
        ...


class PaymentIdentifier(Protocol):
    """Checks a payment without a call, as `Settler.identify` does."""

    def identify(
        self, payment: Payment, *, key: str | None, caller: Caller | None, client: str
    ) -> SettleRequest | NotSettled:
        """Build the request to settle the payment, or the reason it can never be settled."""
        ...
