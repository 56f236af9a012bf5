"""Respond to a request to an enabled wrapper: with its offer, or with what was paid for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.catalog.discovery.canonical_url import normalize_path
from farebox.facilitator.settlement import KeyConflict, NothingSent, NotSettled
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.gateway.delivery.deliver import Deliverer
from farebox.gateway.delivery.outcome import AttemptStarted, WrapperChanged
from farebox.gateway.delivery.pass_response import ResponseWriter
from farebox.gateway.delivery.pay import PaidRequest, Payer
from farebox.gateway.delivery.reservation_store import NewPayment
from farebox.gateway.offers.offer import GatewayUrl, build_offer
from farebox.gateway.offers.presented_payment import (
    NotTheTerms,
    PresentedPayment,
    read_presented_payment,
    read_retried_payment,
)
from farebox.gateway.payment import BuyerRequest, GatewayPayment, PaymentState
from farebox.gateway.relay.received_body import ReceivedBody
from farebox.gateway.relay.relay import Relay, UpstreamRequest
from farebox.gateway.relay.request_headers import forward_request_headers
from farebox.gateway.relay.upstream_url import UpstreamUrlFault, join_upstream_url
from farebox.gateway.responses import GatewayResponse, ResponseContext, error_response
from farebox.gateway.upstream_credentials import UpstreamCredential, UpstreamCredentials
from farebox.gateway.wrapper import NotOffered, Wrapper, WrapperTerm, price_call
from farebox.gateway.wrappers.enabled_wrappers import EnabledWrappers
from farebox.kernel.caller import Caller, CallerKind
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Outage
from farebox.kernel.secret import Secret
from farebox.outbound.target import Target, parse_target
from farebox.x402.payment import Payment
from farebox.x402.payment_header import HeaderFault
from farebox.x402.wire import Unacceptable

_NO_HASH: Final = "0" * 64


class PaymentIdentifier(Protocol):
    """Checks a payment without a call, as `Settler.identify` does."""

    def identify(
        self, payment: Payment, *, key: str | None, caller: Caller | None, client: str
    ) -> SettleRequest | NotSettled:
        """Build the request to settle the payment, or the reason it can never be settled."""
        ...


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


@dataclass(frozen=True, slots=True)
class GatewayParts:
    """The use cases of the gateway."""

    wrappers: EnabledWrappers
    credentials: UpstreamCredentials
    settler: PaymentIdentifier
    payer: Payer
    relay: Relay
    deliverer: Deliverer
    url: GatewayUrl


@dataclass(frozen=True, slots=True)
class WrapperRequest:
    """A request to an enabled wrapper, as it was received; its body is still to come."""

    wrapper: Wrapper
    method: str  # one of `METHODS`
    path: str  # below the wrapper's URL: empty, or with a leading slash
    query: str | None
    headers: Sequence[tuple[bytes, bytes]]
    signatures: Sequence[bytes]  # the values of `PAYMENT-SIGNATURE`; empty for an unpaid request
    client: str
    request_id: str


@dataclass(frozen=True, slots=True)
class _Purchase:
    """What one paid request buys."""

    answers: ResponseContext
    url: str  # the upstream's
    body: ReceivedBody


class Response:
    """The response to one request.

    Every check that needs no settlement comes before it; a receipt is never withheld.
    """

    def __init__(self, parts: GatewayParts, request: WrapperRequest, buyer: BuyerStream) -> None:
        self._parts, self._request, self._buyer = parts, request, buyer

    async def make(self) -> GatewayResponse | None:
        """Return the response; None when the upstream's was passed on to the buyer.

        Raises:
            Refusal: the request is not served; nothing was charged.
            Outage: likewise, unless a part of a response was passed on.
            BuyerLeft: the buyer's connection is gone.
            ResponseCut: a part of a response was passed on; the connection must be cut.
        """
        request = self._request
        canonical, url = normalize_path(request.path or "/"), self._upstream_url()
        if canonical is None or isinstance(url, UpstreamUrlFault):
            return error_response(request.request_id, ErrorCode.NOT_FORWARDED)
        answers = self._price(request.wrapper, canonical)
        if isinstance(answers, GatewayResponse):
            return answers
        if not request.signatures:
            return answers.offer_response()
        with ReceivedBody() as body:
            limit = request.wrapper.settings.limits.max_request_bytes
            await self._buyer.receive_body(body, limit_bytes=limit)
            return await self._respond_to_payment(_Purchase(answers, url, body))

    def _price(self, wrapper: Wrapper, path: str) -> ResponseContext | GatewayResponse:
        """Make the offer for this request, or the response when it is not for purchase."""
        request, url = self._request, self._parts.url
        call = price_call(wrapper.settings, request.method, path)
        if isinstance(call, NotOffered):
            if call.methods:
                return not_allowed(request.request_id, call.methods)
            return error_response(request.request_id, ErrorCode.NOT_FOUND)
        offer = build_offer(
            wrapper.slug, wrapper.settings, call, url, method=request.method, path=request.path
        )
        return ResponseContext(offer, request.request_id, f"{url.origin}/v1/payments")

    async def _offer_again(self) -> GatewayResponse:
        """Answer a payment for terms that were changed a moment ago."""
        request = self._request
        wrapper = await self._parts.wrappers.read(request.wrapper.slug)
        if wrapper is None:
            return error_response(request.request_id, ErrorCode.NOT_FOUND)
        answers = self._price(wrapper, normalize_path(request.path or "/") or "/")
        if isinstance(answers, GatewayResponse):
            return answers
        return answers.offer_response(NotTheTerms.NO_MATCH.value)

    async def _respond_to_payment(self, purchase: _Purchase) -> GatewayResponse | None:
        request, answers = self._request, purchase.answers
        presented = read_presented_payment(request.signatures, answers.offer)
        if isinstance(presented, HeaderFault):
            return answers.error(ErrorCode.INVALID_PAYMENT_HEADER, presented.value)
        if isinstance(presented, Unacceptable):
            return answers.offer_response(presented.reason.value)
        bound = BuyerRequest(
            request.wrapper.slug, request.method, request.path, request.query, purchase.body.digest
        )
        if isinstance(presented, NotTheTerms):
            return await self._respond_to_retry(purchase, bound)
        paid = self._identify(presented, bound)
        if isinstance(paid, NotSettled):
            return answers.offer_response(paid.reason.value)
        return await self._pay(paid, purchase)

    async def _respond_to_retry(
        self, purchase: _Purchase, bound: BuyerRequest
    ) -> GatewayResponse | None:
        """Continue a request that was paid before the wrapper's terms changed."""
        refusal = purchase.answers.offer_response(NotTheTerms.NO_MATCH.value)
        retried = read_retried_payment(self._request.signatures, purchase.answers.offer)
        paid = None if retried is None else self._identify(retried, bound)
        if not isinstance(paid, PaidRequest):
            return refusal
        known = await self._parts.payer.find(paid)
        if known is None or known.binding != bound.binding():
            return refusal
        return await self._pay(paid, purchase)

    def _identify(
        self, presented: PresentedPayment, bound: BuyerRequest
    ) -> PaidRequest | NotSettled:
        """Build the request to pay, on behalf of the wrapper's owner."""
        wrapper, terms = self._request.wrapper, presented.payment.terms
        owner = Caller(wrapper.owner, CallerKind.SERVICE, is_established=wrapper.is_established)
        settle = self._parts.settler.identify(
            presented.payment, key=None, caller=owner, client=self._request.client
        )
        if isinstance(settle, NotSettled):
            return settle
        term = WrapperTerm(terms.network, terms.asset, terms.amount, terms.pay_to)
        new = NewPayment(settle.identity, wrapper, term, bound, settle.digest)
        return PaidRequest(new, settle)

    async def _pay(self, paid: PaidRequest, purchase: _Purchase) -> GatewayResponse | None:
        parts, request, answers = self._parts, self._request, purchase.answers
        known = await parts.payer.find(paid)
        try:
            credential = await parts.credentials.read(request.wrapper)
        except Outage:
            if known is None or known.state is not PaymentState.PAID:
                raise
            message = "The request is paid, and the upstream's credential cannot be read now."
            code, left = ErrorCode.UPSTREAM_FAILED, known.unused_attempts
            return answers.settled_error(known, code, message, attempts_left=left)
        forwarded = forward_request_headers(
            request.headers, transaction=_NO_HASH, attempt=1, credential=_header_of(credential)
        )
        if forwarded is None:
            return answers.error(ErrorCode.NOT_FORWARDED)
        if known is None:
            await parts.relay.check(purchase.url)
        return await self._settle(paid, known, purchase, credential)

    async def _settle(
        self,
        paid: PaidRequest,
        known: GatewayPayment | None,
        purchase: _Purchase,
        credential: UpstreamCredential | None,
    ) -> GatewayResponse | None:
        answers = purchase.answers
        try:
            outcome = await self._parts.payer.pay(paid, known)
        except NothingSent as error:
            return answers.nothing_sent(error.retry_after_s)
        except KeyConflict as error:
            return answers.offer_response(error.reason.value)
        if isinstance(outcome, WrapperChanged):
            return await self._offer_again()
        if not isinstance(outcome, AttemptStarted):
            return answers.render(outcome)
        attempt, limits = outcome.payment, self._request.wrapper.settings.limits
        forwarded = forward_request_headers(
            self._request.headers,
            transaction=attempt.tx_hash,
            attempt=attempt.attempts,
            credential=_header_of(credential),
        )
        upstream = UpstreamRequest(
            url=purchase.url,
            method=self._request.method,
            body=purchase.body,
            timeout_s=limits.timeout_s,
            max_response_bytes=limits.max_response_bytes,
            headers=tuple(forwarded or ()),
            credential=None if credential is None else credential.secret,
        )
        return await self._deliver(attempt, upstream, answers, may_repeat=paid.may_repeat)

    async def _deliver(
        self,
        attempt: GatewayPayment,
        upstream: UpstreamRequest,
        answers: ResponseContext,
        *,
        may_repeat: bool,
    ) -> GatewayResponse | None:
        self._buyer.show_receipt(attempt)
        try:
            failed = await self._parts.deliverer.deliver(
                attempt,
                upstream,
                self._buyer,
                kept_bytes=self._request.wrapper.settings.limits.kept_response_bytes,
                may_repeat=may_repeat,
            )
        except Outage:
            if self._buyer.status:
                raise
            message = "The request is paid, and its delivery could not be recorded."
            code, left = ErrorCode.SERVICE_UNAVAILABLE, attempt.unused_attempts
            return answers.settled_error(attempt, code, message, attempts_left=left)
        return None if failed is None else answers.not_delivered(failed)

    def _upstream_url(self) -> str | UpstreamUrlFault:
        upstream, request = self._request.wrapper.settings.upstream, self._request
        target = parse_target(upstream.url)
        if not isinstance(target, Target):
            return UpstreamUrlFault.PATH
        base = upstream.url.partition("?")[0]
        base_query = target.query if target.has_query else None
        return join_upstream_url(base, request.path, request.query, base_query=base_query)


def _header_of(credential: UpstreamCredential | None) -> tuple[str, Secret[str]] | None:
    return None if credential is None else (credential.name, credential.value)


def not_allowed(request_id: str, methods: Sequence[str]) -> GatewayResponse:
    """Render the 405 of a request whose path takes other methods."""
    headers = ((b"allow", ", ".join(methods).encode()),)
    return error_response(request_id, ErrorCode.METHOD_NOT_ALLOWED, headers=headers)
