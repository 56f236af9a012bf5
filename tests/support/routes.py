"""Routes declared for a test, and an application of some endpoints without the rest."""

from typing import Any

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.web.endpoint import Endpoint, Example, ResponseDeclaration, RouteDeclaration
from farebox.web.error_responses import ErrorMiddleware
from farebox.web.request_context import RequestLog
from farebox.web.route_table import RouteTable


def declare(method: str, path: str, **declared: Any) -> RouteDeclaration:
    """Declare a route of which a test names only the members that it is about."""
    rest: dict[str, Any] = {
        "tag": "test",
        "summary": "A route of a test.",
        "responses": {200: ResponseDeclaration("It worked.")},
        "rate": None,
        "example": Example(),
    }
    return RouteDeclaration(method=method, path=path, **(rest | declared))


def endpoint(method: str, path: str, handler: ASGIApp, **declared: Any) -> Endpoint:
    """Declare a route of a test with its handler."""
    return Endpoint(declare(method, path, **declared), handler)


class RoutedApp:
    """Serves endpoints behind the log and the error responses alone, without guards and limits."""

    def __init__(self, *endpoints: Endpoint) -> None:
        table = RouteTable((each.route, each.handler) for each in endpoints)
        self._app = RequestLog(ErrorMiddleware(table, {}), structlog.get_logger().bind())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._app(scope, receive, send)
            return
        for phase in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{phase}.complete"})
