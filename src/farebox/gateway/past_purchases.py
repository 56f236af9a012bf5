"""Respond to paid requests that their wrapper does not serve any more."""

from typing import Final

from farebox.facilitator.settlement import NotSettled
from farebox.gateway.delivery.pay import Payer
from farebox.gateway.gateway_request import BuyerStream, GatewayRequest, PaymentIdentifier
from farebox.gateway.offers.offer import GatewayUrl, WrapperOffer
from farebox.gateway.offers.presented_payment import read_retried_payment
from farebox.gateway.payment import PresentedRequest
from farebox.gateway.relay.received_body import BodySpool
from farebox.gateway.responses import GatewayResponse, ResponseContext

MAX_REQUEST_BYTES: Final = 10_485_760  # the most that any wrapper takes
_NOTHING_OFFERED: Final = WrapperOffer((), {}, {})


class PastPurchases:
    """Finds what was paid before: its receipt and its state outlive the wrapper.

    Nothing is settled, and no upstream is called.
    """

    def __init__(
        self, settler: PaymentIdentifier, payer: Payer, url: GatewayUrl, spool: BodySpool
    ) -> None:
        self._settler, self._payer, self._spool = settler, payer, spool
        self._payments_url = f"{url.origin}/v1/payments"

    async def respond(self, request: GatewayRequest, buyer: BuyerStream) -> GatewayResponse | None:
        """Respond with the state of the request's payment; None for one that paid nothing here.

        The body is received only where the payment is one of this slug.

        Raises:
            Refusal: the body is too large, or too slow.
            Outage: the payment cannot be looked up now.
            BuyerLeft: the buyer's connection is gone.
        """
        presented = read_retried_payment(request.signatures)
        if presented is None:
            return None
        settle = self._settler.identify(
            presented.payment, key=None, caller=None, client=request.client
        )
        if isinstance(settle, NotSettled):
            return None
        known = await self._payer.find(settle.identity)
        if known is None or known.slug != request.slug:
            return None
        with self._spool.open(request.client) as body:
            await buyer.receive_body(body, limit_bytes=MAX_REQUEST_BYTES)
            bound = request.bind(body.digest)
        own = PresentedRequest(
            settle.identity,
            bound.binding(),
            settle.digest,
            presented.digest,
            is_private=presented.is_private,
        )
        if not own.owns(known):
            return None
        answers = ResponseContext(_NOTHING_OFFERED, request.request_id, self._payments_url)
        return answers.render(await self._payer.find_state(own, known))
