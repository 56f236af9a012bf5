"""The liveness and readiness checks: their declared routes and handlers."""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import msgspec
import structlog
from msgspec import UNSET, UnsetType
from starlette.types import Receive, Scope, Send

from farebox.kernel.errors import Outage
from farebox.web.endpoint import Endpoint, Example, ResponseDeclaration, RouteDeclaration
from farebox.web.guard import Headers
from farebox.web.responses import send_json

PROBE_DEADLINE_S: Final = 3.0
_CACHE_S: Final = 0.1  # how long a response is reused: a replica is ready as soon as it says so
_RETRY: Final = ((b"retry-after", b"%d" % Outage.repeat_after_s),)
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ComponentHealth:
    """The health of a component; `reasons` are machine-readable codes without addresses.

    A usable component may have reasons too, as warnings.
    """

    is_usable: bool
    reasons: tuple[str, ...] = ()


class Component(Protocol):
    """An external system that Farebox needs."""

    @property
    def name(self) -> str:
        """`database`, or the network's CAIP-2 id."""
        ...

    async def health(self) -> ComponentHealth:
        """Check the health now; may be slow and may raise `Outage`."""
        ...


_Status = Literal["ok", "unavailable"]


class LiveBody(msgspec.Struct, frozen=True):
    """The process runs."""

    status: Literal["ok"]


class PartBody(msgspec.Struct, frozen=True):
    """The state of one part; `reasons` are machine-readable codes."""

    status: _Status
    reasons: tuple[str, ...] | UnsetType = UNSET


class ReadyBody(msgspec.Struct, frozen=True):
    """The state of the service and of each of its parts."""

    status: _Status
    parts: dict[str, PartBody]


LIVE: Final = RouteDeclaration(
    method="GET",
    path="/health/live",
    tag="service",
    summary="Whether the process runs.",
    responses={200: ResponseDeclaration("It does.", LiveBody)},
    rate=None,
    example=Example(response={"status": "ok"}),
)
READY: Final = RouteDeclaration(
    method="GET",
    path="/health/ready",
    tag="service",
    summary="Whether each part can be used now.",
    responses={
        200: ResponseDeclaration("Every part can.", ReadyBody),
        503: ResponseDeclaration("One cannot.", ReadyBody),
    },
    rate=None,
    example=Example(
        response={
            "status": "ok",
            "parts": {"database": {"status": "ok"}, "stellar:testnet": {"status": "ok"}},
        }
    ),
)
_encode: Final = msgspec.json.Encoder().encode


class LiveEndpoint:
    """Answers 200 as long as the process runs."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, 200, b'{"status":"ok"}')


class ReadyEndpoint:
    """Answers 200 when every component is usable, else 503, with an entry for each component.

    The route is public: the components are checked ten times a second at most, and concurrent
    requests share a check. A component's unavailability is logged when it begins, ends or changes.
    """

    def __init__(
        self, components: Sequence[Component], *, deadline_s: float, monotonic: Callable[[], float]
    ) -> None:
        self._components, self._deadline_s, self._monotonic = components, deadline_s, monotonic
        self._checked_at = -math.inf
        self._response: asyncio.Task[tuple[int, bytes, Headers]] | None = None
        self._logged: dict[str, ComponentHealth] = {}  # of unusable components, by name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # a client that disconnects does not cancel the shared check
        await send_json(send, *await asyncio.shield(self._current()))

    def _current(self) -> "asyncio.Task[tuple[int, bytes, Headers]]":
        now = self._monotonic()
        is_old = self._response is None or (
            self._response.done() and now >= self._checked_at + _CACHE_S
        )
        if self._response is None or is_old:
            self._checked_at, self._response = now, asyncio.create_task(self._check_all())
        return self._response

    async def _check_all(self) -> tuple[int, bytes, Headers]:
        checks = (self._check(component) for component in self._components)
        results = await asyncio.gather(*checks)
        is_ready = all(health.is_usable for health in results)
        parts = {
            component.name: _part_body(health)
            for component, health in zip(self._components, results, strict=True)
        }
        body = _encode(ReadyBody(_status(is_ready), parts))
        return (200, body, ()) if is_ready else (503, body, _RETRY)

    async def _check(self, component: Component) -> ComponentHealth:
        error: Exception | None = None
        try:
            async with asyncio.timeout(self._deadline_s):
                health = await component.health()
        except TimeoutError:
            health = _unusable("timeout")
        except Outage as outage:
            error, health = outage, _unusable("unavailable")
        except Exception as broken:  # noqa: BLE001 - it must not hide the other components
            error, health = broken, _unusable("probe_failed")
        self._log_change(component.name, health, error)
        return health

    def _log_change(self, name: str, health: ComponentHealth, error: Exception | None) -> None:
        known = self._logged.pop(name, None)
        if health.is_usable:
            if known is not None:
                log.info("health.component_available", component=name)
            return
        self._logged[name] = health
        if health == known:
            return
        if error is None or isinstance(error, Outage):
            reason = ", ".join(health.reasons) if error is None else error.message
            log.warning("health.component_unavailable", component=name, reason=reason)
        else:
            log.error("health.check_failed", component=name, exc_info=error)


def _unusable(reason: str) -> ComponentHealth:
    return ComponentHealth(is_usable=False, reasons=(reason,))


def _part_body(health: ComponentHealth) -> PartBody:
    return PartBody(_status(health.is_usable), health.reasons or UNSET)


def _status(is_usable: bool) -> _Status:  # noqa: FBT001 - the one argument
    return "ok" if is_usable else "unavailable"


def health_endpoints(
    components: Sequence[Component],
    *,
    deadline_s: float = PROBE_DEADLINE_S,
    monotonic: Callable[[], float] = time.monotonic,
) -> list[Endpoint]:
    """Return the two routes; a check that takes longer than `deadline_s` fails."""
    ready = ReadyEndpoint(components, deadline_s=deadline_s, monotonic=monotonic)
    return [Endpoint(LIVE, LiveEndpoint()), Endpoint(READY, ready)]
