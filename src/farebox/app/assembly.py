"""What the composition root hands to the application: routes, loops, parts and what to close."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import Protocol

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from farebox.app.health import Part
from farebox.web.errors import FailureBody
from farebox.web.operation import Operation


@dataclass(frozen=True, slots=True)
class Loop:
    """A background task that runs until the service stops; if it ends, the service stops."""

    name: str
    run: Callable[[], Coroutine[object, object, None]]


class Feature(Protocol):
    """A part of the service that was put together in a module of its own."""

    @property
    def routes(self) -> Sequence[BaseRoute]: ...
    @property
    def tasks(self) -> Sequence[Loop]: ...
    @property
    def resources(self) -> Sequence[AbstractAsyncContextManager[object]]: ...


@dataclass(frozen=True, slots=True)
class Features:
    """Several of them as one, in their order."""

    routes: Sequence[BaseRoute]
    tasks: Sequence[Loop]
    resources: Sequence[AbstractAsyncContextManager[object]]


def joined(*features: Feature) -> Features:
    """What they come to together."""
    return Features(
        routes=[route for each in features for route in each.routes],
        tasks=[loop for each in features for loop in each.tasks],
        resources=[part for each in features for part in each.resources],
    )


async def _nothing_to_leave() -> None:
    return


def _as_it_is(app: ASGIApp) -> ASGIApp:
    return app


@dataclass(frozen=True, slots=True)
class Services:
    """The service as constructed, nothing of it running yet."""

    routes: Sequence[BaseRoute]
    operations: Sequence[Operation] = ()  # what the API schema says of the routes
    tasks: Sequence[Loop] = ()
    parts: Sequence[Part] = ()
    # entered in this order before the loops start, left in reverse after they ended
    resources: Sequence[AbstractAsyncContextManager[object]] = ()
    # once the service is told to stop, while the loops still run: returns when all are answered
    leave: Callable[[], Coroutine[object, object, None]] = field(default=_nothing_to_leave)
    # what stands before all routes
    around: Callable[[ASGIApp], ASGIApp] = field(default=_as_it_is)
    # routes whose failures speak their own protocol: path to the body of a failure
    failure_bodies: Mapping[str, FailureBody] = field(default_factory=dict)
    # whose word is taken on where a request comes from
    trusted_proxies: Sequence[IPv4Network | IPv6Network] = ()
