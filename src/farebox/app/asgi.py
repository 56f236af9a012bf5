"""The ASGI application: the middleware around every route, the console and the routing table."""

from collections.abc import Callable, Sequence
from typing import Final

import structlog
from starlette.exceptions import HTTPException
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.app.assembly import Services
from farebox.app.console import HEADERS
from farebox.app.health import health_endpoints
from farebox.app.lifespan import Lifespan
from farebox.app.openapi import openapi_endpoint
from farebox.app.services import build_services
from farebox.app.settings import Settings
from farebox.mcp.http import PATH as MCP_PATH
from farebox.web.client_address import ClientAddress
from farebox.web.endpoint import Endpoint
from farebox.web.error_responses import ErrorMiddleware
from farebox.web.path_template import route_path
from farebox.web.request_body import BodyLimit, BodyTimeouts
from farebox.web.request_context import RequestLog
from farebox.web.responses import CrossOrigin
from farebox.web.route_table import RouteTable
from farebox.web.static_files import StaticFiles

_SAME: Final = {f"{MCP_PATH}/": MCP_PATH}  # other spellings of a path that clients are given


class Application:
    """The ASGI application; everything about a route comes from its declaration.

    A request passes the log, the client address, CORS and the error responses. A file of the
    console is served there; any other request passes the limit of credentials, the routing table,
    and the body limit, guard and rate limit of its route.
    """

    def __init__(self, services: Services, *, stop: Callable[[], None]) -> None:
        self._lifespan = Lifespan(services, stop=stop)
        served = [*services.endpoints, *health_endpoints(services.parts)]
        self.endpoints: Sequence[Endpoint] = [*served, openapi_endpoint(served)]
        self._lifespan_handler = Router(default=_not_found, lifespan=self._lifespan)
        routes = services.around(_routing_table(services, self.endpoints))
        app: ASGIApp = ErrorMiddleware(
            StaticFiles(routes, services.console, HEADERS),
            {
                each.route.path: each.route.failure.render
                for each in self.endpoints
                if each.route.failure is not None
            },
        )
        open_paths = {each.route.path for each in self.endpoints if each.route.is_cross_origin}
        app = ClientAddress(CrossOrigin(app, open_paths), services.trusted_proxies)
        self._app: ASGIApp = RequestLog(app, structlog.get_logger().bind())

    @property
    def failure(self) -> Exception | None:
        """The reason why the service did not start or had to stop; None while it works."""
        return self._lifespan.failure

    async def leave(self) -> None:
        """Drain: answer every request while everything still runs, and hand over the rest."""
        await self._lifespan.leave()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw_path = scope["raw_path"]
            path = route_path(raw_path) if b"%" in raw_path else scope["path"]
            scope["path"] = _SAME.get(path, path)
            await self._app(scope, receive, send)
        else:
            await self._lifespan_handler(scope, receive, send)


def _routing_table(services: Services, endpoints: Sequence[Endpoint]) -> RouteTable:
    timeouts = BodyTimeouts()
    return RouteTable(
        (
            each.route,
            BodyLimit(
                services.protect(each),
                limit_bytes=each.route.body_limit_bytes,
                timeouts=timeouts,
            ),
        )
        for each in endpoints
    )


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000})
        return
    raise HTTPException(status_code=404)


def create_app(settings: Settings, *, stop: Callable[[], None] = lambda: None) -> Application:
    """Build the service for these settings; `stop` is called when a background loop has died."""
    return Application(build_services(settings), stop=stop)
