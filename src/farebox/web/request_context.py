"""The context of one request (id, status, log fields), and the one log line written from it."""

from contextvars import ContextVar
from random import getrandbits
from time import perf_counter
from typing import Final, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from farebox.web.responses import NO_SNIFF, NO_STORE

KEY: Final = "farebox.context"
PATH_LIMIT: Final = 200  # characters of a path in the log: a longer one is an attack
_UNAUTHENTICATED: Final = 401
_NO_CONTENT: Final = 204
_LENGTH: Final = b"content-length"
current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)


def new_request_id() -> str:
    """Make an id for a request; it is no secret."""
    return f"{getrandbits(64):016x}"


class RequestContext:
    """The state of a request, made when it arrives and logged once its response is sent."""

    __slots__ = ("fields", "is_private", "path", "request_id", "started_at", "status")

    def __init__(self) -> None:
        self.request_id = new_request_id()
        self.started_at = perf_counter()
        self.status = 0  # 0 = no response has begun
        self.is_private = False  # the caller is known: the response is for that caller only
        self.path: str | None = None  # logged in place of the request's own, where that is private
        self.fields: dict[str, str | int] = {}

    def add_log_fields(self, **fields: str | int) -> None:
        """Add ids and codes to the log line, never a part of a body or a header."""
        self.fields.update(fields)


def context_of(scope: Scope) -> RequestContext:
    """Return the context of the request that this ASGI scope belongs to."""
    context: RequestContext = scope[KEY]
    return context


class EventLog(Protocol):
    """The log that takes the line."""

    def info(self, event: str, **fields: object) -> object:
        """Write an event with its fields."""
        ...


class RequestLog:
    """Gives a request its id, returns it as `x-request-id`, and writes one log line.

    The line has the method, the path without its query, the status, the duration and the fields
    that the route added; bodies and headers are never logged. A response to a known caller, and a
    401, carries `cache-control: no-store`; a 204 has no length (RFC 9110, section 8.6).
    """

    def __init__(self, app: ASGIApp, log: EventLog) -> None:
        self._app, self._log = app, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = scope[KEY] = RequestContext()
        token = current_request_id.set(context.request_id)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                headers = [
                    *message.get("headers", ()),
                    (b"x-request-id", context.request_id.encode()),
                    NO_SNIFF,
                ]
                if context.status == _NO_CONTENT:
                    headers = [each for each in headers if each[0] != _LENGTH]
                if context.is_private or context.status == _UNAUTHENTICATED:
                    headers = _with_no_store(headers)
                message["headers"] = headers
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            self._log.info(
                "request",
                method=scope["method"][:16],
                path=(context.path or scope["path"])[:PATH_LIMIT],
                status=context.status,
                ms=round((perf_counter() - context.started_at) * 1000, 2),
                **context.fields,
            )
            current_request_id.reset(token)


def _with_no_store(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Add `no-store` unless the route has set `cache-control` itself."""
    if any(name == NO_STORE[0] for name, _ in headers):
        return headers
    return [*headers, NO_STORE]
