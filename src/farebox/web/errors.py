"""From an exception to a status and a body: the only such table of the service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import orjson
import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.kernel.errors import Outage, Refusal, TooManyRequests
from farebox.web.answers import send_json
from farebox.web.request_note import note_of

log = structlog.get_logger()

STATUSES: Final[Mapping[str, int]] = {
    "body_too_large": 413,
    "method_not_allowed": 405,
    "not_found": 404,
    "request_timeout": 408,
    "unauthenticated": 401,
    "challenge_not_open": 401,
    "signature_refused": 401,
    "session_required": 403,
    "scope_missing": 403,
    "cross_site_request": 403,
    "account_not_allowed": 403,
    "name_taken": 409,
    "key_revoked": 409,
    "too_many_keys": 409,
    "secret_in_use": 409,
    "too_many_secrets": 409,
    "unsupported_media_type": 415,
    "too_many_requests": 429,
    "vault_unavailable": 503,
    "sign_in_unavailable": 503,
    "contract_login_unavailable": 503,
}
_HTTP: Final = {404: ("not_found", "There is nothing at this path.")}


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that got no answer of its own: what every failing body is made from."""

    status: int
    code: str
    message: str
    request_id: str


FailureBody = Callable[[Failure], bytes]  # a failure in the JSON shape of one route


def uniform_body(failure: Failure) -> bytes:
    """The body of every route that has no shape of its own."""
    return orjson.dumps(
        {
            "error": {
                "code": failure.code,
                "message": failure.message,
                "requestId": failure.request_id,
            }
        }
    )


class ErrorEdge:
    """Answers for whatever left the routes as an exception.

    A refusal is logged at info, an outage at warning with its part, a bug at error with its
    trace; the caller of a bug learns the request id and nothing else.
    """

    def __init__(self, app: ASGIApp, bodies: Mapping[str, FailureBody]) -> None:
        self._app, self._bodies = app, bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            note_of(scope).say(error="caller_left")
        except Exception as error:  # the last table: nothing may pass it unanswered
            note = note_of(scope)
            headers: list[tuple[bytes, bytes]] = []
            failure = _failure(error, note.request_id, scope, headers)
            if note.status:
                raise  # half an answer is out: the server cuts the connection
            note.say(error=failure.code)
            body = self._bodies.get(scope["path"], uniform_body)(failure)
            await send_json(send, failure.status, body, headers)


def _failure(
    error: Exception, request_id: str, scope: Scope, headers: list[tuple[bytes, bytes]]
) -> Failure:
    match error:
        case Refusal(code=code, message=message):
            log.info("request.refused", code=code)
            headers.extend(_advice(error, code))
            return Failure(STATUSES.get(code, 400), code, message, request_id)
        case Outage(part=part):
            log.warning("request.outage", part=part, cause=type(error.__cause__).__name__)
            words = "Something the service needs is away; try again later."
            return Failure(503, "service_unavailable", words, request_id)
        case HTTPException(status_code=405):
            allowed = sorted((error.headers or {}).get("Allow", "").split(", "))
            headers.append((b"allow", ", ".join(allowed).encode()))
            words = f"This path does not take {_method(scope)}."
            return Failure(405, "method_not_allowed", words, request_id)
        case HTTPException(status_code=status) if status in _HTTP:
            return Failure(status, *_HTTP[status], request_id)
        case _:
            log.error("request.broken", exc_info=error)
            words = "An unexpected fault; the request id names it in the log."
            return Failure(500, "internal_error", words, request_id)


def _advice(error: Exception, code: str) -> list[tuple[bytes, bytes]]:
    """What HTTP has a header for: when to ask again, and what to show."""
    if isinstance(error, TooManyRequests):
        return [(b"retry-after", b"%d" % error.retry_after_s)]
    return [(b"www-authenticate", b"Bearer")] if code == "unauthenticated" else []


def _method(scope: Scope) -> str:
    method = str(scope["method"])
    return method if method.isalpha() and len(method) <= 10 else "this method"
