"""A `PAYMENT-SIGNATURE` for runs, held against the quote that its identifier names."""

from collections.abc import Sequence
from dataclasses import dataclass

from farebox.automation.credits.pay_for_runs import PayForRunsOutcome, RunOrder, RunPayments
from farebox.automation.credits.run_offer import RunOffer
from farebox.automation.credits.run_payment import RunPayment
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.x402.payment import Payment
from farebox.x402.payment_header import (
    NO_MATCH,
    HeaderFault,
    PaymentHeader,
    read_payment_header,
)
from farebox.x402.reasons import Reason


@dataclass(frozen=True, slots=True)
class PresentedForRuns:
    """The payment of a request, and the quote that it pays."""

    quote: RunPayment
    payment: Payment


class PaymentPresentation:
    """Answers a request to pay for runs, with and without a payment."""

    def __init__(self, payments: RunPayments) -> None:
        self._payments = payments

    async def respond(
        self, order: RunOrder, signatures: Sequence[bytes], url: str
    ) -> PayForRunsOutcome:
        """Offer the runs, or take the payment; `url` is the route that the payment is for.

        A payment for other terms, or without the quote's identifier, is answered with the offer.

        Raises:
            Refusal: the header holds no payment, or the plan takes none now.
        """
        if not signatures:
            return await self._payments.offer(order)
        header = read_payment_header(signatures)
        if isinstance(header, HeaderFault):
            raise Refusal(ErrorCode.INVALID_PAYMENT_HEADER, header.value)
        presented = await self._read(order, header, url)
        if isinstance(presented, PresentedForRuns):
            return await self._payments.pay(order, presented.quote, presented.payment)
        return await self._payments.offer(order, error=presented)

    async def _read(
        self, order: RunOrder, header: PaymentHeader, url: str
    ) -> PresentedForRuns | str:
        """Find the quote and read the payment for it; a text says why there is none."""
        identifier = header.identifier
        if not isinstance(identifier, str) or isinstance(identifier, Reason):
            return identifier or Reason.PAYMENT_IDENTIFIER_REQUIRED
        quote = await self._payments.find(order, identifier)
        if quote is None or quote.is_top_up is not order.is_top_up:
            return NO_MATCH
        if order.runs not in (None, quote.quote.runs):
            return NO_MATCH
        offer = RunOffer(quote, url)
        requirement = header.find_requirement([offer.requirement()])
        if requirement is None:
            return NO_MATCH
        read = header.read_payment(requirement, resource=offer.resource(), extensions={})
        if isinstance(read, HeaderFault):
            raise Refusal(ErrorCode.INVALID_PAYMENT_HEADER, read.value)
        return PresentedForRuns(quote, read) if isinstance(read, Payment) else read.reason
