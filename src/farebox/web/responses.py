"""Responses: whole ones written to an ASGI `send`, and the headers of cross-origin requests."""

from collections.abc import Collection, Sequence
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from farebox.web.path_template import compile_path

JSON_TYPE = (b"content-type", b"application/json")
NO_STORE = (b"cache-control", b"no-store")
NO_SNIFF = (b"x-content-type-options", b"nosniff")  # a browser takes the type as declared
_ANY_ORIGIN: Final = (b"access-control-allow-origin", b"*")
_PREFLIGHT: Final = (
    _ANY_ORIGIN,
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"Content-Type"),
    (b"access-control-max-age", b"86400"),
)
_EXPOSED: Final = (
    b"access-control-expose-headers",
    b"Deprecation, ETag, Retry-After, Sunset, X-Request-Id",
)


async def send_json(
    send: Send, status: int, body: bytes, headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """Send a response; `body` is encoded JSON, `headers` follow its type and length."""
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [JSON_TYPE, (b"content-length", b"%d" % len(body)), *headers],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def send_no_content(send: Send) -> None:
    """Send a 204: the request succeeded and its response has no body."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


class CrossOrigin:
    """Lets pages of every origin read the responses of some paths, errors included (CORS).

    Cookies play no part: a browser sends none with `*`. `paths` may have parameters.
    """

    def __init__(self, app: ASGIApp, paths: Collection[str]) -> None:
        self._app, self._paths = app, frozenset(paths)
        self._patterns = tuple(compile_path(each) for each in sorted(paths) if "{" in each)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        if scope["method"] == "OPTIONS":
            await send({"type": "http.response.start", "status": 204, "headers": list(_PREFLIGHT)})
            await send({"type": "http.response.body", "body": b""})
            return

        async def send_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [each for each in message.get("headers", ()) if each[0] != _ANY_ORIGIN[0]]
                message = {**message, "headers": [*headers, _ANY_ORIGIN, _EXPOSED]}
            await send(message)

        await self._app(scope, receive, send_open)

    def _is_open(self, path: str) -> bool:
        return path in self._paths or any(each.match(path) for each in self._patterns)
