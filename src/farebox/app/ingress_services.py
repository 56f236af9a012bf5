"""The composition root of the ingress: who may use the facilitator, how often, what is metered.

It has connections of its own, and few: a limit is counted by one statement at a time, and a
database that is slow keeps a request waiting for a second at most.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from farebox.app.assembly import Loop
from farebox.app.restarted_loop import restarted
from farebox.app.settings import Settings
from farebox.facilitator.http import Ingress
from farebox.ingress.http import GuessLimit, Rates, limited, rates
from farebox.ingress.limiter import Limiter, Turns
from farebox.ingress.limits import Limit
from farebox.ingress.meter import Meter
from farebox.ingress.usage import Usage
from farebox.ingress.usage_http import usage_routes
from farebox.kernel.caller import Grant
from farebox.kernel.clock import Clock
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.web.guard import Authenticates, Guarded, Needs

_COUNTERS: Final = 2
_COUNT_S: Final = 1.0
_READERS: Final = 3
_READ_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class IngressServices:
    """The ingress as constructed, nothing of it running yet."""

    limiter: Limiter
    allowed: Rates
    facilitator: Ingress
    routes: Sequence[BaseRoute]
    tasks: Sequence[Loop]
    # entered in this order before the loops start, left in reverse after they ended
    resources: Sequence[AbstractAsyncContextManager[object]]

    def turns(self, what: str, *, most: int) -> Turns:
        """A limit of its own for something that one asker may do so often a minute."""
        return Turns(self.limiter, Limit(what, most))

    def limited(self, routes: Iterable[BaseRoute]) -> list[BaseRoute]:
        """The routes, each behind the limits of whoever asks."""
        return [limited(route, self.limiter, self.allowed) for route in routes]

    def around(self, app: ASGIApp) -> ASGIApp:
        """What stands before all routes."""
        return GuessLimit(app, self.limiter, self.allowed.guess)


def build_ingress(
    settings: Settings, url: Secret[str], clock: Clock, authenticates: Authenticates
) -> IngressServices:
    """Everything that stands before the routes."""
    counting = Database(
        url, connections=_COUNTERS, wait_s=_COUNT_S, statement_s=_COUNT_S, name="farebox-ingress"
    )
    metering = Database(
        url, connections=_READERS, wait_s=_READ_S, statement_s=_READ_S, name="farebox-usage"
    )
    limiter = Limiter(counting, clock)
    allowed = rates(
        per_address=settings.ingress.rate_per_address, per_key=settings.ingress.rate_per_key
    )
    meter = Meter(metering, clock)
    return IngressServices(
        limiter,
        allowed,
        _facilitator(settings, meter, authenticates),
        routes=usage_routes(Usage(metering, clock), authenticates),
        tasks=[
            restarted(Loop("ingress counts", limiter.run), clock),
            restarted(Loop("usage", meter.run), clock),
        ],
        resources=[counting, metering, meter],
    )


def _facilitator(settings: Settings, meter: Meter, authenticates: Authenticates) -> Ingress:
    """What the networks ask of a caller; where each asks for a key, nobody else is read at all."""
    needs = {
        name: Needs(Grant.FACILITATOR, is_optional=not own.needs_key)
        for name, own in settings.networks.items()
    }
    at_all = Needs(Grant.FACILITATOR, is_optional=any(each.is_optional for each in needs.values()))

    def guarded(endpoint: ASGIApp, *, goes_on: bool) -> Guarded:
        return Guarded(endpoint, authenticates, at_all, goes_on=goes_on)

    return Ingress(needs, meter, guarded)
