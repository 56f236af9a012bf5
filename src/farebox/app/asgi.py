"""The ASGI application: what surrounds every route, in the order a request meets it."""

from collections.abc import Callable, Sequence

import structlog
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.app.assembly import Services
from farebox.app.health import HEALTH_OPERATIONS, health_routes
from farebox.app.lifespan import Lifespan
from farebox.app.openapi import SCHEMA, openapi_route
from farebox.app.services import build_services
from farebox.app.settings import Settings
from farebox.web.client_address import ClientAddress
from farebox.web.errors import ErrorEdge
from farebox.web.limits import BodyLimit
from farebox.web.request_log import RequestLog
from farebox.web.route_table import RouteTable


class Application:
    """Lifespan events go to the router, requests through log, address, error table and limits."""

    def __init__(self, services: Services, *, stop: Callable[[], None]) -> None:
        self._lifespan = Lifespan(services, stop=stop)
        routes = [*services.routes, *health_routes(services.parts)]
        operations = [*services.operations, *HEALTH_OPERATIONS, SCHEMA]
        self._router = Router(
            [*routes, openapi_route(routes, operations)],
            redirect_slashes=False,
            default=_not_found,
            lifespan=self._lifespan,
        )
        table = RouteTable(self._router.routes)
        limited: ASGIApp = BodyLimit(services.around(table))
        answered: ASGIApp = ErrorEdge(limited, services.failure_bodies)
        located: ASGIApp = ClientAddress(answered, services.trusted_proxies)
        self._edge: ASGIApp = RequestLog(located, structlog.get_logger().bind())

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Every route that is served."""
        return self._router.routes

    @property
    def failure(self) -> Exception | None:
        """Why the service did not start or had to stop; None while all is well."""
        return self._lifespan.failure

    async def leave(self) -> None:
        """Answer everybody, while everything still runs; what is pending then is handed over."""
        await self._lifespan.leave()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self  # the router raises for the error table instead of answering itself
        if scope["type"] == "http":
            await self._edge(scope, receive, send)
        else:
            await self._router(scope, receive, send)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000})
        return
    raise HTTPException(status_code=404)


def create_app(settings: Settings, *, stop: Callable[[], None] = lambda: None) -> Application:
    """The whole service for these settings; `stop` is called when a background loop has died."""
    return Application(build_services(settings), stop=stop)
