"""`/gateway/<slug>`: an offer for an unpaid request, the upstream's response for a paid one."""

from dataclasses import dataclass
from typing import Final, Protocol

import structlog
from starlette.types import Receive, Scope, Send

from farebox.catalog.discovery.canonical_url import normalize_path
from farebox.facilitator.settlement import KeyConflict, NothingSent, NotSettled
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.gateway.buyer_connection import BuyerConnection
from farebox.gateway.cross_origin import OPEN, preflight_headers
from farebox.gateway.delivery.deliver import BuyerLeft, Deliverer, ResponseCut
from farebox.gateway.delivery.outcome import AttemptStarted, WrapperChanged
from farebox.gateway.delivery.pay import PaidRequest, Payer
from farebox.gateway.delivery.reservation_store import NewPayment
from farebox.gateway.gateway_path import GatewayPath, parse_gateway_path
from farebox.gateway.offers.offer import GatewayUrl, build_offer
from farebox.gateway.offers.presented_payment import (
    HeaderFault,
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
from farebox.gateway.responses import GatewayResponse, ResponseContext
from farebox.gateway.upstream_credentials import UpstreamCredentials
from farebox.gateway.wrapper import (
    METHODS,
    NotOffered,
    Wrapper,
    WrapperTerm,
    price_call,
)
from farebox.gateway.wrappers.enabled_wrappers import EnabledWrappers
from farebox.kernel.caller import Caller, CallerKind
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Outage, Refusal
from farebox.kernel.secret import Secret
from farebox.outbound.target import Target, parse_target
from farebox.web.client_address import client_name, client_of
from farebox.web.error_responses import Failure, uniform_body
from farebox.web.request_context import context_of
from farebox.x402.headers import PAYMENT_SIGNATURE
from farebox.x402.payment import Payment
from farebox.x402.wire import Unacceptable

_SIGNATURE: Final = PAYMENT_SIGNATURE.lower().encode()
_NO_HASH: Final = "0" * 64
_ALLOWED: Final = ", ".join(("HEAD", "OPTIONS", *METHODS))

log = structlog.get_logger(__name__)


class PaymentIdentifier(Protocol):
    """Checks a payment without a call, as `Settler.identify` does."""

    def identify(
        self, payment: Payment, *, key: str | None, caller: Caller | None, client: str
    ) -> SettleRequest | NotSettled:
        """Build the request to settle the payment, or the reason it can never be settled."""
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


class GatewayEndpoint:
    """Every check that needs no settlement comes before it; a receipt is never withheld."""

    def __init__(self, parts: GatewayParts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "OPTIONS":
            await _send(send, GatewayResponse(204, preflight_headers(_requested(scope)), b""))
            return
        connection = BuyerConnection(receive, send)
        try:
            response = await self._respond(scope, connection)
        except BuyerLeft:
            context_of(scope).add_log_fields(error="caller_left")
            return
        except (Refusal, Outage) as error:
            if connection.status:
                raise  # half a response is out: the server cuts the connection
            response = _failed(scope, error)
        if response is not None:
            is_head = scope["method"] == "HEAD"
            await _send(send, response, is_head=is_head)

    async def _respond(self, scope: Scope, connection: BuyerConnection) -> GatewayResponse | None:
        """Answer a request; None when the upstream's response was passed on."""
        path = parse_gateway_path(scope["raw_path"])
        wrapper = None if path is None else await self._parts.wrappers.find(path.slug)
        if path is None or wrapper is None:
            return _plain(scope, ErrorCode.NOT_FOUND)
        if scope["method"] not in (*METHODS, "HEAD"):
            return _not_allowed(scope, _ALLOWED)
        request = _Request(scope, connection, path, wrapper, self._parts)
        return await request.respond()


@dataclass(slots=True)
class _Request:
    """One request to an enabled wrapper."""

    scope: Scope
    connection: BuyerConnection
    path: GatewayPath
    wrapper: Wrapper
    parts: GatewayParts

    @property
    def method(self) -> str:
        return "GET" if self.scope["method"] == "HEAD" else str(self.scope["method"])

    async def respond(self) -> GatewayResponse | None:
        """Answer with the offer, a refusal, or the upstream's response (then None)."""
        canonical, url = normalize_path(self.path.rest or "/"), self._upstream_url()
        if canonical is None or isinstance(url, UpstreamUrlFault):
            return _plain(self.scope, ErrorCode.NOT_FORWARDED)
        answers = self._price(self.wrapper, canonical)
        if isinstance(answers, GatewayResponse):
            return answers
        signatures = [value for name, value in self.scope["headers"] if name == _SIGNATURE]
        if not signatures or self.scope["method"] == "HEAD":
            return answers.offer_response()
        with ReceivedBody() as body:
            limit = self.wrapper.settings.limits.max_request_bytes
            await self.connection.receive_body(body, limit_bytes=limit)
            return await self._respond_to_payment(signatures, answers, url, body)

    def _price(self, wrapper: Wrapper, path: str) -> ResponseContext | GatewayResponse:
        """Make the offer for this request, or the response when it is not for sale."""
        call = price_call(wrapper.settings, self.method, path)
        if isinstance(call, NotOffered):
            if call.methods:
                return _not_allowed(self.scope, ", ".join(call.methods))
            return _plain(self.scope, ErrorCode.NOT_FOUND)
        url, rest = self.parts.url, self.path.rest
        offer = build_offer(
            wrapper.slug, wrapper.settings, call, url, method=self.method, path=rest
        )
        request_id = context_of(self.scope).request_id
        return ResponseContext(offer, request_id, f"{url.origin}/v1/payments")

    async def _offer_again(self) -> GatewayResponse:
        """Answer a payment for terms that were changed a moment ago."""
        wrapper = await self.parts.wrappers.read(self.path.slug)
        if wrapper is None:
            return _plain(self.scope, ErrorCode.NOT_FOUND)
        answers = self._price(wrapper, normalize_path(self.path.rest or "/") or "/")
        if isinstance(answers, GatewayResponse):
            return answers
        return answers.offer_response(NotTheTerms.NO_MATCH.value)

    async def _respond_to_payment(
        self, signatures: list[bytes], answers: ResponseContext, url: str, body: ReceivedBody
    ) -> GatewayResponse | None:
        presented = read_presented_payment(signatures, answers.offer)
        if isinstance(presented, HeaderFault):
            return answers.error(ErrorCode.INVALID_PAYMENT_HEADER, presented.value)
        if isinstance(presented, Unacceptable):
            return answers.offer_response(presented.reason.value)
        bound = BuyerRequest(
            self.path.slug, self.method, self.path.rest, _query(self.scope), body.digest
        )
        if isinstance(presented, NotTheTerms):
            return await self._respond_to_retry(signatures, answers, url, body, bound)
        request = self._identify(presented, bound)
        if isinstance(request, NotSettled):
            return answers.offer_response(request.reason.value)
        return await self._pay(request, answers, url, body)

    async def _respond_to_retry(
        self,
        signatures: list[bytes],
        answers: ResponseContext,
        url: str,
        body: ReceivedBody,
        bound: BuyerRequest,
    ) -> GatewayResponse | None:
        """Continue a request that was paid before the wrapper's terms changed."""
        refusal = answers.offer_response(NotTheTerms.NO_MATCH.value)
        retried = read_retried_payment(signatures, answers.offer)
        request = None if retried is None else self._identify(retried, bound)
        if not isinstance(request, PaidRequest):
            return refusal
        known = await self.parts.payer.find(request)
        if known is None or known.binding != bound.binding():
            return refusal
        return await self._pay(request, answers, url, body)

    def _identify(
        self, presented: PresentedPayment, bound: BuyerRequest
    ) -> PaidRequest | NotSettled:
        """Build the request to pay, on behalf of the wrapper's owner."""
        wrapper, terms = self.wrapper, presented.payment.terms
        owner = Caller(wrapper.owner, CallerKind.SERVICE, is_established=wrapper.is_established)
        settle = self.parts.settler.identify(
            presented.payment, key=None, caller=owner, client=client_name(client_of(self.scope))
        )
        if isinstance(settle, NotSettled):
            return settle
        term = WrapperTerm(terms.network, terms.asset, terms.amount, terms.pay_to)
        new = NewPayment(settle.identity, wrapper, term, bound, settle.digest)
        return PaidRequest(new, settle)

    async def _pay(
        self, request: PaidRequest, answers: ResponseContext, url: str, body: ReceivedBody
    ) -> GatewayResponse | None:
        parts, headers = self.parts, self.scope["headers"]
        known = await parts.payer.find(request)
        try:
            credential = await parts.credentials.read(self.wrapper)
        except Outage:
            if known is None or known.state is not PaymentState.PAID:
                raise
            message = "The request is paid, and the upstream's credential cannot be read now."
            code, left = ErrorCode.UPSTREAM_FAILED, known.unused_attempts
            return answers.settled_error(known, code, message, attempts_left=left)
        if (
            forward_request_headers(headers, transaction=_NO_HASH, attempt=1, credential=credential)
            is None
        ):
            return answers.error(ErrorCode.NOT_FORWARDED)
        if known is None:
            await parts.relay.check(url)
        return await self._settle(request, answers, url, body, credential)

    async def _settle(
        self,
        request: PaidRequest,
        answers: ResponseContext,
        url: str,
        body: ReceivedBody,
        credential: tuple[str, Secret[str]] | None,
    ) -> GatewayResponse | None:
        try:
            outcome = await self.parts.payer.pay(request)
        except NothingSent as error:
            retry = ((b"retry-after", b"%d" % error.retry_after_s),)
            return answers.error(ErrorCode.SERVICE_UNAVAILABLE, headers=retry)
        except KeyConflict as error:
            return answers.offer_response(error.reason.value)
        if isinstance(outcome, WrapperChanged):
            return await self._offer_again()
        if not isinstance(outcome, AttemptStarted):
            return answers.render(outcome)
        attempt = outcome.payment
        context_of(self.scope).add_log_fields(tx_hash=attempt.tx_hash, attempt=attempt.attempts)
        forwarded = forward_request_headers(
            self.scope["headers"],
            transaction=attempt.tx_hash,
            attempt=attempt.attempts,
            credential=credential,
        )
        upstream = UpstreamRequest(
            url=url,
            method=self.method,
            body=body,
            timeout_s=self.wrapper.settings.limits.timeout_s,
            max_response_bytes=self.wrapper.settings.limits.max_response_bytes,
            headers=tuple(forwarded or ()),
        )
        return await self._deliver(attempt, upstream, answers, may_repeat=request.may_repeat)

    async def _deliver(
        self,
        attempt: GatewayPayment,
        upstream: UpstreamRequest,
        answers: ResponseContext,
        *,
        may_repeat: bool,
    ) -> GatewayResponse | None:
        self.connection.show_receipt(attempt)
        try:
            failed = await self.parts.deliverer.deliver(
                attempt,
                upstream,
                self.connection,
                kept_bytes=self.wrapper.settings.limits.kept_response_bytes,
                may_repeat=may_repeat,
            )
        except Outage:
            if self.connection.status:
                raise
            message = "The request is paid, and its delivery could not be recorded."
            code = ErrorCode.SERVICE_UNAVAILABLE
            left = attempt.unused_attempts
            return answers.settled_error(attempt, code, message, attempts_left=left)
        except ResponseCut:
            context_of(self.scope).add_log_fields(error="upstream_response_cut")
            raise
        return None if failed is None else answers.not_delivered(failed)

    def _upstream_url(self) -> str | UpstreamUrlFault:
        target = parse_target(self.wrapper.settings.upstream.url)
        if not isinstance(target, Target):
            return UpstreamUrlFault.PATH
        base = self.wrapper.settings.upstream.url.partition("?")[0]
        base_query = target.query if target.has_query else None
        return join_upstream_url(base, self.path.rest, _query(self.scope), base_query=base_query)


def _query(scope: Scope) -> str | None:
    """Return the query as it was sent; an empty one counts as none."""
    query: bytes = scope["query_string"]
    return query.decode("latin-1") or None


def _requested(scope: Scope) -> bytes | None:
    name = b"access-control-request-headers"
    return next((value for each, value in scope["headers"] if each == name), None)


def _failed(scope: Scope, error: Refusal | Outage) -> GatewayResponse:
    """Render a refusal or an outage before anything was settled."""
    if isinstance(error, Outage):
        log.warning("gateway.outage", part=error.part, cause=type(error.__cause__).__name__)
        code, message = ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.SERVICE_UNAVAILABLE.sentence
        wait_s: int | None = error.repeat_after_s
    else:
        code, message, wait_s = error.code, error.message, error.retry_after_s
    retry = () if wait_s is None else ((b"retry-after", b"%d" % wait_s),)
    return _plain(scope, code, retry, message=message)


def _plain(
    scope: Scope,
    code: ErrorCode,
    headers: tuple[tuple[bytes, bytes], ...] = (),
    *,
    message: str | None = None,
) -> GatewayResponse:
    context = context_of(scope)
    context.add_log_fields(error=code)
    body = uniform_body(Failure(code, message or code.sentence, context.request_id))
    own = ((b"content-type", b"application/json"), (b"cache-control", b"no-store"), *headers)
    return GatewayResponse(code.status, own, body)


def _not_allowed(scope: Scope, methods: str) -> GatewayResponse:
    return _plain(scope, ErrorCode.METHOD_NOT_ALLOWED, ((b"allow", methods.encode()),))


async def _send(send: Send, response: GatewayResponse, *, is_head: bool = False) -> None:
    names = {name for name, _ in response.headers}
    headers = [*response.headers, *(each for each in OPEN if each[0] not in names)]
    if b"content-length" not in names:
        headers.append((b"content-length", b"%d" % len(response.body)))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if is_head else response.body})
