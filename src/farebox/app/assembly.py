"""What the composition root hands to the application: routes, loops, parts and what to close."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from starlette.routing import BaseRoute

from farebox.app.health import Part
from farebox.web.errors import FailureBody


@dataclass(frozen=True, slots=True)
class Loop:
    """A background task that runs until the service stops; if it ends, the service stops."""

    name: str
    run: Callable[[], Coroutine[object, object, None]]


async def _nothing_to_leave() -> None:
    return


@dataclass(frozen=True, slots=True)
class Services:
    """The service as constructed, nothing of it running yet."""

    routes: Sequence[BaseRoute]
    tasks: Sequence[Loop] = ()
    parts: Sequence[Part] = ()
    # entered in this order before the loops start, left in reverse after they ended
    resources: Sequence[AbstractAsyncContextManager[object]] = ()
    # once the service is told to stop, while the loops still run: returns when all are answered
    leave: Callable[[], Coroutine[object, object, None]] = field(default=_nothing_to_leave)
    # routes whose failures speak their own protocol: path to the body of a failure
    failure_bodies: Mapping[str, FailureBody] = field(default_factory=dict)
