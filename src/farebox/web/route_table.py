"""Which route a request goes to."""

from collections.abc import Iterable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

_PARAMETER: Final = "{"


class RouteTable:
    """Finds a path without parameters in one step, and tries the others one after the other.

    Several routes may have one path where their methods differ; a method that none of them takes
    is answered with all that are. Nothing but plain routes is taken.
    """

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._exact: dict[str, list[Route]] = {}
        self._others: list[Route] = []
        for route in routes:
            if not isinstance(route, Route):
                raise TypeError(f"not a plain route: {route!r}")
            if _PARAMETER in route.path:
                self._others.append(route)
            else:
                self._exact.setdefault(route.path, []).append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        here = self._exact.get(scope["path"]) or self._matching(scope)
        for route in here:
            if scope["method"] in (route.methods or ()):
                if _PARAMETER in route.path:
                    scope.update(route.matches(scope)[1])
                await route.handle(scope, receive, send)
                return
        if not here:
            raise HTTPException(status_code=404)
        allowed = {method for route in here for method in route.methods or ()}
        raise HTTPException(status_code=405, headers={"Allow": ", ".join(sorted(allowed))})

    def _matching(self, scope: Scope) -> list[Route]:
        return [route for route in self._others if route.matches(scope)[0] is not Match.NONE]
