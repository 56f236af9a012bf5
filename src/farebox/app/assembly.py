"""The parts that the composition root hands to the application: routes, loops, resources."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import Protocol

from starlette.types import ASGIApp

from farebox.app.health import Component
from farebox.web.endpoint import Endpoint
from farebox.web.route_table import RouteTable
from farebox.web.static_files import StaticFile


@dataclass(frozen=True, slots=True)
class Loop:
    """A background task that runs until the service stops; if it ends, the service stops."""

    name: str
    run: Callable[[], Coroutine[object, object, None]]


class Feature(Protocol):
    """A feature, assembled in a module of its own."""

    @property
    def endpoints(self) -> Sequence[Endpoint]: ...
    @property
    def tasks(self) -> Sequence[Loop]: ...
    @property
    def resources(self) -> Sequence[AbstractAsyncContextManager[object]]: ...


@dataclass(frozen=True, slots=True)
class Features:
    """Several features as one, in their order."""

    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop]
    resources: Sequence[AbstractAsyncContextManager[object]]


def join_features(*features: Feature) -> Features:
    """Join the endpoints, tasks and resources of features."""
    return Features(
        endpoints=[endpoint for each in features for endpoint in each.endpoints],
        tasks=[loop for each in features for loop in each.tasks],
        resources=[part for each in features for part in each.resources],
    )


async def _no_drain() -> None:
    return


def _unprotected(endpoint: Endpoint) -> ASGIApp:
    return endpoint.handler


def _plain_table(table: RouteTable) -> ASGIApp:
    return table


@dataclass(frozen=True, slots=True)
class Services:
    """The service as constructed, nothing of it running yet."""

    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop] = ()
    parts: Sequence[Component] = ()
    # entered in this order before the loops start, left in reverse after they ended
    resources: Sequence[AbstractAsyncContextManager[object]] = ()
    # called on shutdown while the loops still run: returns when every request is answered
    leave: Callable[[], Coroutine[object, object, None]] = field(default=_no_drain)
    # puts the guard and the rate limit that a route declares before its handler
    protect: Callable[[Endpoint], ASGIApp] = field(default=_unprotected)
    # puts the gateway and the limit of credentials before the routing table
    around: Callable[[RouteTable], ASGIApp] = field(default=_plain_table)
    trusted_proxies: Sequence[IPv4Network | IPv6Network] = ()
    # the files of the console by their path, served before the routing table
    console: Mapping[str, StaticFile] = field(default_factory=dict)
