"""The routing table: path and method to the handler of a route."""

from collections.abc import Iterable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.web.endpoint import Rate, RateClass, RouteDeclaration
from farebox.web.path_template import compile_path

UNKNOWN_ROUTE: Final = Rate(RateClass.MANAGEMENT)  # of a path or method without a route


class _Path:
    """The routes of one path by method; a GET route answers HEAD too."""

    def __init__(self, template: str) -> None:
        self.match = compile_path(template).match
        self.by_method: dict[str, ASGIApp] = {}
        self.rates: dict[str, Rate | None] = {}

    def add(self, route: RouteDeclaration, handler: ASGIApp) -> None:
        for method in ("GET", "HEAD") if route.method == "GET" else (route.method,):
            if method in self.by_method:
                raise ValueError(f"declared twice: {method} {route.path}")
            self.by_method[method] = handler
            self.rates[method] = route.rate


class RouteTable:
    """Finds a path without parameters in one step, and tries the others one after the other."""

    def __init__(self, routes: Iterable[tuple[RouteDeclaration, ASGIApp]]) -> None:
        self._exact: dict[str, _Path] = {}
        self._templates: dict[str, _Path] = {}
        for route, handler in routes:
            paths = self._templates if "{" in route.path else self._exact
            paths.setdefault(route.path, _Path(route.path)).add(route, handler)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = self._exact.get(scope["path"])
        if path is None:
            path, scope["path_params"] = self._find_template(scope["path"])
        if path is None:
            raise HTTPException(status_code=404)
        handler = path.by_method.get(scope["method"])
        if handler is None:
            allowed = ", ".join(sorted(path.by_method))
            raise HTTPException(status_code=405, headers={"Allow": allowed})
        await handler(scope, receive, send)

    def rate_of(self, method: str, path: str) -> Rate | None:
        """Return how requests for a route are counted; None for one without a rate limit."""
        found = self._exact.get(path) or self._find_template(path)[0]
        return UNKNOWN_ROUTE if found is None else found.rates.get(method, UNKNOWN_ROUTE)

    def _find_template(self, path: str) -> tuple[_Path | None, dict[str, str]]:
        for each in self._templates.values():
            if match := each.match(path):
                return each, match.groupdict()
        return None, {}
