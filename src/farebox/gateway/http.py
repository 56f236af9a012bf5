"""`/gateway/<slug>`: the HTTP edge of the gateway, before the routing table."""

from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Final, Protocol

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.gateway.analytics.recorded_request import (
    MAX_PATH,
    RecordedRequest,
    RequestOutcome,
)
from farebox.gateway.buyer_connection import BuyerConnection
from farebox.gateway.cross_origin import OPEN, preflight_headers
from farebox.gateway.delivery.deliver import ResponseCut
from farebox.gateway.delivery.pass_response import BuyerLeft
from farebox.gateway.gateway_path import (
    GatewayPath,
    is_gateway_path,
    logged_path,
    parse_gateway_path,
)
from farebox.gateway.gateway_request import GatewayRequest
from farebox.gateway.respond import GatewayParts, Response, not_allowed
from farebox.gateway.responses import GatewayResponse, error_response
from farebox.gateway.wrapper import METHODS, Wrapper
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Outage, Refusal
from farebox.web.guard import share_name
from farebox.web.half_closed import CUT
from farebox.web.request_context import context_of
from farebox.x402.headers import PAYMENT_SIGNATURE

_SIGNATURE: Final = PAYMENT_SIGNATURE.lower().encode()
_ALLOWED: Final = ("HEAD", "OPTIONS", *METHODS)

log = structlog.get_logger(__name__)


class Recorder(Protocol):
    """Takes the records of requests, as `RequestRecorder` does."""

    def record(self, request: RecordedRequest) -> None:
        """Add a request; returns at once."""
        ...


class GatewayEndpoint:
    """Responds to every request whose undecoded path is the gateway's.

    `count` counts a request against the rate limit of its sender.
    """

    def __init__(
        self,
        parts: GatewayParts,
        recorder: Recorder,
        clock: Clock,
        count: Callable[[Scope], Awaitable[None]],
    ) -> None:
        self._parts, self._recorder, self._clock, self._count = parts, recorder, clock, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = context_of(scope)
        context.path = logged_path(scope["raw_path"])
        connection = BuyerConnection(scope, receive, send)
        path, wrapper, response, is_passed_on = None, None, None, False
        try:
            await self._count(scope)
            if scope["method"] == "OPTIONS":
                await _send(send, GatewayResponse(204, preflight_headers(_requested(scope)), b""))
                return
            path = parse_gateway_path(scope["raw_path"])
            wrapper = None if path is None else await self._parts.wrappers.find(path.slug)
            response = await self._respond(scope, connection, path, wrapper)
            is_passed_on = response is None
        except BuyerLeft:
            context.add_log_fields(error="caller_left")
            return
        except ResponseCut as cut:
            context.add_log_fields(error="upstream_response_cut", fault=cut.fault.value)
            raise
        except (Refusal, Outage) as error:
            if connection.status:
                raise  # half a response is out: the server cuts the connection
            response = _failed(context.request_id, error)
        finally:
            connection.close()
            if path is not None and wrapper is not None:
                ended = RequestOutcome.UPSTREAM_SUCCESS if is_passed_on else None
                self._record(scope, connection, path, wrapper, response or ended)
        if response is not None:
            await _send(send, response, is_head=scope["method"] == "HEAD")

    async def _respond(
        self,
        scope: Scope,
        connection: BuyerConnection,
        path: GatewayPath | None,
        wrapper: Wrapper | None,
    ) -> GatewayResponse | None:
        """Respond to a request; None when the upstream's response was passed on."""
        request_id = context_of(scope).request_id
        if path is None:
            return error_response(request_id, ErrorCode.NOT_FOUND)
        if wrapper is not None and scope["method"] not in _ALLOWED:
            return not_allowed(request_id, _ALLOWED)
        is_head = scope["method"] == "HEAD"  # answered like an unpaid GET
        request = GatewayRequest(
            slug=path.slug,
            method="GET" if is_head else scope["method"],
            path=path.rest,
            query=scope["query_string"].decode("latin-1") or None,  # an empty one counts as none
            headers=scope["headers"],
            signatures=[] if is_head else _signatures(scope["headers"]),
            client=share_name(scope),
            request_id=request_id,
        )
        if wrapper is not None:
            return await Response(self._parts, wrapper, request, connection).make()
        known = await self._parts.past.respond(request, connection)
        return known or error_response(request_id, ErrorCode.NOT_FOUND)

    def _record(
        self,
        scope: Scope,
        connection: BuyerConnection,
        path: GatewayPath,
        wrapper: Wrapper,
        response: GatewayResponse | RequestOutcome | None,
    ) -> None:
        """Record the request for its owner, and name its payment in the log."""
        context = context_of(scope)
        attempt = connection.payment
        tx_hash = attempt.tx_hash if attempt is not None else ""
        if isinstance(response, GatewayResponse):
            outcome, code, status = response.outcome, response.code, response.status
            tx_hash, size = response.tx_hash or tx_hash, len(response.body)
        else:
            outcome, code = response or RequestOutcome.BROKEN_OFF, None
            status, size = connection.status, connection.sent_bytes
        if code is not None:
            context.add_log_fields(error=code)
        if tx_hash:
            context.add_log_fields(tx_hash=tx_hash)
        if attempt is not None:
            context.add_log_fields(attempt=attempt.attempts)
        self._recorder.record(
            RecordedRequest(
                wrapper_id=wrapper.id,
                at=self._clock.now(),
                request_id=context.request_id,
                method=scope["method"][:16],
                path=path.rest[:MAX_PATH],
                status=status,
                outcome=outcome,
                duration_ms=round((perf_counter() - context.started_at) * 1000),
                request_bytes=connection.received_bytes,
                response_bytes=size,
                error_code=code,
                tx_hash=tx_hash,
            )
        )


class GatewayBeforeRoutes:
    """Leads requests to the gateway by their undecoded path, and all others to the routes.

    A response that broke in the middle is no fault of the service: its record and the request's log
    line name it, and the connection is cut. Another server does so with a response without an end.
    """

    def __init__(self, gateway: ASGIApp, routes: ASGIApp) -> None:
        self._gateway, self._routes = gateway, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_gateway_path(scope["raw_path"]):
            await self._routes(scope, receive, send)
            return
        try:
            await self._gateway(scope, receive, send)
        except ResponseCut:
            if CUT in scope.get("extensions", ()):
                await send({"type": CUT})


def _signatures(headers: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    return [value for name, value in headers if name == _SIGNATURE]


def _requested(scope: Scope) -> bytes | None:
    name = b"access-control-request-headers"
    return next((value for each, value in scope["headers"] if each == name), None)


def _failed(request_id: str, error: Refusal | Outage) -> GatewayResponse:
    """Render a refusal or an outage before anything was settled."""
    if isinstance(error, Outage):
        log.warning("gateway.outage", part=error.part, cause=type(error.__cause__).__name__)
        code, outcome = ErrorCode.SERVICE_UNAVAILABLE, RequestOutcome.GATEWAY_ERROR
        message = code.sentence
        wait_s: int | None = error.repeat_after_s
    else:
        code, outcome = error.code, RequestOutcome.REFUSED
        message, wait_s = error.message, error.retry_after_s
    retry = () if wait_s is None else ((b"retry-after", b"%d" % wait_s),)
    return error_response(request_id, code, message, headers=retry, outcome=outcome)


async def _send(send: Send, response: GatewayResponse, *, is_head: bool = False) -> None:
    names = {name for name, _ in response.headers}
    headers = [*response.headers, *(each for each in OPEN if each[0] not in names)]
    if b"content-length" not in names:
        headers.append((b"content-length", b"%d" % len(response.body)))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if is_head else response.body})
