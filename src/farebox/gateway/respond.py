"""Respond to a request to an enabled wrapper: with its offer, or with what was paid for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.facilitator.settlement import KeyConflict, NothingSent, NotSettled
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.gateway.delivery.deliver import Deliverer
from farebox.gateway.delivery.outcome import AttemptStarted, WrapperChanged
from farebox.gateway.delivery.pay import PaidRequest, Payer
from farebox.gateway.delivery.reservation_store import NewPayment
from farebox.gateway.gateway_request import BuyerStream, GatewayRequest, PaymentIdentifier
from farebox.gateway.offers.offer import GatewayUrl, build_offer
from farebox.gateway.offers.presented_payment import (
    NotTheTerms,
    PresentedPayment,
    read_presented_payment,
    read_retried_payment,
)
from farebox.gateway.past_purchases import PastPurchases
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.gateway.relay.received_body import BodySpool, ReceivedBody
from farebox.gateway.relay.relay import Relay, UpstreamRequest
from farebox.gateway.relay.request_headers import forward_request_headers
from farebox.gateway.responses import GatewayResponse, ResponseContext, error_response
from farebox.gateway.upstream_credentials import UpstreamCredential, UpstreamCredentials
from farebox.gateway.upstream_url import UpstreamUrlFault, join_upstream_url
from farebox.gateway.wrapper import NotOffered, Wrapper, WrapperTerm, price_call
from farebox.gateway.wrappers.enabled_wrappers import EnabledWrappers
from farebox.kernel.caller import Caller, CallerKind
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Outage
from farebox.kernel.secret import Secret
from farebox.outbound.target import Target, parse_target
from farebox.x402.payment_header import HeaderFault
from farebox.x402.wire import Unacceptable

_NO_HASH: Final = "0" * 64
_RESTARTS: Final = 3  # of a request whose wrapper is changed again and again
_RESTART_S: Final = 1


@dataclass(frozen=True, slots=True)
class GatewayParts:
    """The use cases of the gateway."""

    wrappers: EnabledWrappers
    credentials: UpstreamCredentials
    settler: PaymentIdentifier
    payer: Payer
    relay: Relay
    deliverer: Deliverer
    past: PastPurchases
    url: GatewayUrl
    spool: BodySpool


@dataclass(frozen=True, slots=True)
class _Sale:
    """The sale of one request, by the settings of its wrapper."""

    answers: ResponseContext
    url: str  # the upstream's


@dataclass(frozen=True, slots=True)
class _Purchase:
    """A payment that passed every check that needs neither the body nor a settlement.

    One that is none for the terms of now, for the reason `error`, may continue what was paid
    before, `known`.
    """

    presented: PresentedPayment
    settle: SettleRequest
    known: GatewayPayment | None = None
    error: str = ""


class Response:
    """The response to one request.

    Every check that needs no settlement comes before it; a receipt is never withheld.
    """

    def __init__(
        self,
        parts: GatewayParts,
        wrapper: Wrapper,
        request: GatewayRequest,
        buyer: BuyerStream,
        *,
        restarts: int = _RESTARTS,
    ) -> None:
        self._parts, self._wrapper = parts, wrapper
        self._request, self._buyer, self._restarts = request, buyer, restarts

    async def make(self) -> GatewayResponse | None:
        """Return the response; None when the upstream's was passed on to the buyer.

        Raises:
            Refusal: the request is not served; nothing was charged.
            Outage: likewise, unless a part of a response was passed on.
            BuyerLeft: the buyer's connection is gone.
            ResponseCut: a part of a response was passed on; the connection must be cut.
        """
        sale = self._price()
        if not self._request.signatures:
            return sale if isinstance(sale, GatewayResponse) else sale.answers.offer_response()
        if isinstance(sale, GatewayResponse):
            return await self._parts.past.respond(self._request, self._buyer) or sale
        purchase = await self._read_payment(sale)
        if isinstance(purchase, GatewayResponse):
            return purchase
        with self._parts.spool.open(self._request.client) as body:
            limit = self._wrapper.settings.limits.max_request_bytes
            await self._buyer.receive_body(body, limit_bytes=limit)
            return await self._buy(purchase, sale, body)

    def _price(self) -> _Sale | GatewayResponse:
        """Make the offer for this request, or the response when it is not for sale."""
        request, wrapper, origin = self._request, self._wrapper, self._parts.url
        url = self._upstream_url(wrapper)
        if isinstance(url, UpstreamUrlFault):
            return error_response(request.request_id, ErrorCode.NOT_FORWARDED)
        call = price_call(wrapper.settings, request.method, request.path or "/")
        if isinstance(call, NotOffered):
            if call.methods:
                return not_allowed(request.request_id, call.methods)
            return error_response(request.request_id, ErrorCode.NOT_FOUND)
        offer = build_offer(
            wrapper.slug, wrapper.settings, call, origin, method=request.method, path=request.path
        )
        answers = ResponseContext(offer, request.request_id, f"{origin.origin}/v1/payments")
        return _Sale(answers, url)

    async def _start_over(self, body: ReceivedBody) -> GatewayResponse | None:
        """Respond by the settings of now to a request of which nothing was settled.

        Those may have the very terms that were paid: a new secret or upstream refuses no payment.
        """
        request = self._request
        wrapper = await self._parts.wrappers.read(request.slug)
        if wrapper is None:
            return error_response(request.request_id, ErrorCode.NOT_FOUND)
        again = Response(self._parts, wrapper, request, self._buyer, restarts=self._restarts - 1)
        sale = again._price()
        if isinstance(sale, GatewayResponse):
            return sale
        if not self._restarts:
            return sale.answers.nothing_sent(_RESTART_S)
        purchase = await again._read_payment(sale)
        if isinstance(purchase, GatewayResponse):
            return purchase
        return await again._buy(purchase, sale, body)

    async def _read_payment(self, sale: _Sale) -> _Purchase | GatewayResponse:
        """Read and identify the payment, or refuse it before a byte of the body is received."""
        presented = read_presented_payment(self._request.signatures, sale.answers.offer)
        if isinstance(presented, HeaderFault):
            return sale.answers.error(ErrorCode.INVALID_PAYMENT_HEADER, presented.value)
        if isinstance(presented, Unacceptable):
            return sale.answers.offer_response(presented.reason.value)
        if isinstance(presented, NotTheTerms):
            return await self._find_retried(sale, presented.value)
        settle = self._identify(presented)
        if isinstance(settle, NotSettled):
            return await self._find_retried(sale, settle.reason.value)
        return _Purchase(presented, settle)

    async def _find_retried(self, sale: _Sale, error: str) -> _Purchase | GatewayResponse:
        """Find the request that was paid before the wrapper's terms changed.

        `error` says why the payment is none for the terms of now. Of the flat form only the signed
        transfer shows it.
        """
        retried = read_retried_payment(self._request.signatures)
        settle = None if retried is None else self._identify(retried)
        if retried is not None and isinstance(settle, SettleRequest):
            known = await self._parts.payer.find(settle.identity)
            if known is not None:
                return _Purchase(retried, settle, known, error)
        return sale.answers.offer_response(error)

    def _identify(self, presented: PresentedPayment) -> SettleRequest | NotSettled:
        """Build the request to settle, on behalf of the wrapper's owner."""
        wrapper = self._wrapper
        owner = Caller(wrapper.owner, CallerKind.SERVICE, is_established=wrapper.is_established)
        return self._parts.settler.identify(
            presented.payment, key=None, caller=owner, client=self._request.client
        )

    async def _buy(
        self, purchase: _Purchase, sale: _Sale, body: ReceivedBody
    ) -> GatewayResponse | None:
        """Bind the payment to the request that was received with it, and pay."""
        presented, settle = purchase.presented, purchase.settle
        terms, bound = presented.payment.terms, self._request.bind(body.digest)
        term = WrapperTerm(terms.network, terms.asset, terms.amount, terms.pay_to)
        paid = PaidRequest(
            NewPayment(
                settle.identity, self._wrapper, term, bound, settle.digest, presented.digest
            ),
            settle,
            self._parts.relay.slot(self._wrapper, settle.identity),
            self._buyer,
            is_private=presented.is_private,
            is_for_sale=purchase.known is None,
        )
        if purchase.known is not None and not paid.presented.owns(purchase.known):
            return sale.answers.offer_response(purchase.error)
        return await self._pay(paid, sale, body)

    async def _pay(
        self, paid: PaidRequest, sale: _Sale, body: ReceivedBody
    ) -> GatewayResponse | None:
        """Check what can be checked without a settlement, and settle."""
        parts, request, answers = self._parts, self._request, sale.answers
        known = await parts.payer.find(paid.new.identity)
        try:
            credential = await parts.credentials.read(self._wrapper)
        except Outage:
            if known is None or known.state is PaymentState.RESERVED:
                raise
            return answers.render(await parts.payer.find_state(paid.presented, known))
        forwarded = forward_request_headers(
            request.headers, transaction=_NO_HASH, attempt=1, credential=_header_of(credential)
        )
        if forwarded is None:
            if known is None or known.state is PaymentState.RESERVED:
                return answers.error(ErrorCode.NOT_FORWARDED)
            return answers.render(await parts.payer.find_state(paid.presented, known))
        if known is None:
            await parts.relay.check(self._wrapper, sale.url)
        with paid.slot:
            return await self._settle(paid, known, answers, body)

    async def _settle(
        self,
        paid: PaidRequest,
        known: GatewayPayment | None,
        answers: ResponseContext,
        body: ReceivedBody,
    ) -> GatewayResponse | None:
        try:
            outcome = await self._parts.payer.pay(paid, known)
        except NothingSent as error:
            return answers.nothing_sent(error.retry_after_s)
        except KeyConflict:
            return answers.identifier_used()
        if isinstance(outcome, WrapperChanged):
            return await self._start_over(body)
        if not isinstance(outcome, AttemptStarted):
            return answers.render(outcome)
        return await self._deliver(outcome.payment, answers, body, may_repeat=paid.may_repeat)

    async def _deliver(
        self,
        attempt: GatewayPayment,
        answers: ResponseContext,
        body: ReceivedBody,
        *,
        may_repeat: bool,
    ) -> GatewayResponse | None:
        try:
            upstream = await self._read_upstream(attempt, body)
        except Outage:
            upstream = None
        if upstream is None:
            return answers.render(await self._parts.deliverer.give_back(attempt))
        self._buyer.show_receipt(attempt)
        try:
            failed = await self._parts.deliverer.deliver(
                attempt,
                upstream,
                self._buyer,
                kept_bytes=self._wrapper.settings.limits.kept_response_bytes,
                may_repeat=may_repeat,
            )
        except Outage:
            if self._buyer.status:
                raise
            message = "The request is paid, and its delivery could not be recorded."
            code, left = ErrorCode.SERVICE_UNAVAILABLE, attempt.unused_attempts
            return answers.settled_error(attempt, code, message, attempts_left=left)
        return None if failed is None else answers.not_delivered(failed)

    async def _read_upstream(
        self, attempt: GatewayPayment, body: ReceivedBody
    ) -> UpstreamRequest | None:
        """Make the upstream request by the wrapper and its credential as of now.

        None when the wrapper was disabled or deleted, or does not lead there any more: after the
        answer to such a change nothing is sent.
        """
        request, limits = self._request, self._wrapper.settings.limits
        wrapper = await self._parts.wrappers.read(request.slug)
        url = None if wrapper is None else self._upstream_url(wrapper)
        if wrapper is None or wrapper.id != attempt.wrapper_id or not isinstance(url, str):
            return None
        credential = await self._parts.credentials.read(wrapper)
        forwarded = forward_request_headers(
            request.headers,
            transaction=attempt.tx_hash,
            attempt=attempt.attempts,
            credential=_header_of(credential),
        )
        if forwarded is None:
            return None
        return UpstreamRequest(
            url=url,
            method=request.method,
            body=body,
            timeout_s=limits.timeout_s,
            max_response_bytes=limits.max_response_bytes,
            headers=tuple(forwarded),
            credential=None if credential is None else credential.secret,
            owner=wrapper.share,
        )

    def _upstream_url(self, wrapper: Wrapper) -> str | UpstreamUrlFault:
        upstream, request = wrapper.settings.upstream, self._request
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
