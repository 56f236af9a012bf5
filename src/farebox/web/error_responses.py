"""Error responses: of exceptions that leave a route, and of connections without a request."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import msgspec
import structlog
from msgspec import UNSET, UnsetType
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import CommandRefused, ErrorMember, Outage, Refusal
from farebox.web.request_body import EncodedBody
from farebox.web.request_context import context_of
from farebox.web.responses import NO_SNIFF, NO_STORE, send_json

log = structlog.get_logger()
# the codes that the server itself answers with, before a request is read
EARLY_CODES: Final = (
    ErrorCode.MALFORMED_HTTP,
    ErrorCode.REQUEST_TIMEOUT,
    ErrorCode.URL_TOO_LONG,
    ErrorCode.HOST_NOT_ALLOWED,
    ErrorCode.TOO_MANY_CONNECTIONS,
    ErrorCode.HEAD_TOO_LARGE,
    ErrorCode.SERVICE_UNAVAILABLE,
)
_EARLY_RETRY_S: Final = 1  # connections come and go
_REPEATABLE: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that failed: every error body is made from this."""

    code: ErrorCode
    message: str
    request_id: str
    field: str = ""  # the member of the body that the failure is about


FailureBody = Callable[[Failure], bytes]  # renders a failure in the JSON shape of one route


class ErrorDetail(msgspec.Struct, frozen=True, rename="camel"):
    """`code` is for programs and stays; `message` is for people; `requestId` is in the log.

    `details` is there where one member of the body is refused.
    """

    code: ErrorCode
    message: str
    request_id: str
    details: ErrorMember | UnsetType = UNSET


class ErrorBody(msgspec.Struct, frozen=True):
    """The error body of every route that has no shape of its own."""

    error: ErrorDetail


def uniform_body(failure: Failure) -> bytes:
    """Render the error body of every route that has no shape of its own."""
    details = ErrorMember(failure.field) if failure.field else UNSET
    detail = ErrorDetail(failure.code, failure.message, failure.request_id, details)
    return _encode(ErrorBody(detail))


class ErrorMiddleware:
    """Answers each exception that leaves a route; `bodies` are the failure bodies of some paths.

    A refusal is logged at info, an outage at warning with its part, a bug at error with its
    trace; the caller of a bug learns the request id and nothing else.
    """

    def __init__(self, app: ASGIApp, bodies: Mapping[str, FailureBody]) -> None:
        self._app, self._bodies = app, bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            context_of(scope).add_log_fields(error="caller_left")
        except Exception as error:  # the outermost handler: every exception is answered here
            context = context_of(scope)
            headers: list[tuple[bytes, bytes]] = []
            failure = _failure(error, context.request_id, scope, headers)
            if context.status:
                raise  # half a response is out: the server cuts the connection
            context.add_log_fields(error=failure.code)
            body = self._bodies.get(scope["path"], uniform_body)(failure)
            await send_json(send, failure.code.status, body, headers)


def _failure(
    error: Exception, request_id: str, scope: Scope, headers: list[tuple[bytes, bytes]]
) -> Failure:
    match error:
        case Refusal(code=code, message=message) if not isinstance(error, CommandRefused):
            log.info("request.refused", code=code)
            headers.extend(_refusal_headers(error))
            return Failure(code, message, request_id, error.field)
        case Outage(part=part, repeat_after_s=wait_s):
            log.warning("request.outage", part=part, cause=type(error.__cause__).__name__)
            headers.append((b"retry-after", b"%d" % wait_s))
            code = ErrorCode.SERVICE_UNAVAILABLE
        case HTTPException(status_code=405):
            allowed = sorted((error.headers or {}).get("Allow", "").split(", "))
            headers.append((b"allow", ", ".join(allowed).encode()))
            message = f"This path does not take {_method(scope)}."
            return Failure(ErrorCode.METHOD_NOT_ALLOWED, message, request_id)
        case HTTPException(status_code=404):
            code = ErrorCode.NOT_FOUND
        case _:
            log.error("request.broken", exc_info=error)
            code = ErrorCode.INTERNAL_ERROR
    return Failure(code, code.sentence, request_id)


def _refusal_headers(error: Refusal) -> list[tuple[bytes, bytes]]:
    if error.retry_after_s is not None:
        return [(b"retry-after", b"%d" % error.retry_after_s)]
    if isinstance(error, EncodedBody):
        return [(b"accept-encoding", b"identity")]  # RFC 9110, section 15.5.16
    is_unauthenticated = error.code is ErrorCode.UNAUTHENTICATED
    return [(b"www-authenticate", b"Bearer")] if is_unauthenticated else []


def _method(scope: Scope) -> str:
    method = str(scope["method"])
    return method if method.isalpha() and len(method) <= 10 else "this method"


@dataclass(frozen=True, slots=True)
class EarlyResponse:
    """The last response of a connection whose next request is not read."""

    code: ErrorCode
    message: str = ""  # empty: the code's own sentence

    def to_bytes(self, request_id: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Render the response; `headers` are those of every response."""
        status = HTTPStatus(self.code.status)
        body = uniform_body(Failure(self.code, self.message or self.code.sentence, request_id))
        fields = [
            *headers,
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            NO_STORE,
            NO_SNIFF,
            (b"connection", b"close"),
            (b"x-request-id", request_id.encode()),
        ]
        if status in _REPEATABLE:
            fields.append((b"retry-after", b"%d" % _EARLY_RETRY_S))
        head = b"".join(name + b": " + value + b"\r\n" for name, value in fields)
        line = f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
        return line + head + b"\r\n" + body
