"""The composition root of the ingress: authentication, rate limits and metering."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from starlette.types import ASGIApp

from farebox.app.assembly import Loop
from farebox.app.database_pools import Pools
from farebox.app.lifespan import restart_on_failure
from farebox.app.settings import Settings
from farebox.facilitator.payment_http import PaymentAccess
from farebox.ingress.http import CredentialLimit, Rates, RequestCount, UnknownRouteLimit, protect
from farebox.ingress.meter import Meter
from farebox.ingress.rate_limiter import ActionQuota, RateLimit, RateLimiter
from farebox.ingress.usage import Usage
from farebox.ingress.usage_http import usage_endpoints
from farebox.kernel.caller import Grant
from farebox.kernel.clock import Clock
from farebox.kernel.quota import Quota
from farebox.web.endpoint import Endpoint, Rate, RateClass
from farebox.web.guard import Access, Authentication
from farebox.web.route_table import UNKNOWN_ROUTE, RouteTable


@dataclass(frozen=True, slots=True)
class IngressServices:
    """The ingress as constructed, nothing of it running yet."""

    limiter: RateLimiter
    rates: Rates
    authentication: Authentication
    payments: PaymentAccess
    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop]
    # entered in this order before the loops start, left in reverse after they ended
    resources: Sequence[AbstractAsyncContextManager[object]]

    def quota(self, action: str, *, per_minute: int) -> Quota:
        """Return the rate limit of an action that one client may repeat so often a minute."""
        return ActionQuota(self.limiter, RateLimit(action, per_minute))

    def count(self, rate_class: RateClass) -> RequestCount:
        """Return the rate limit of requests that no declared route counts."""
        return RequestCount(self.limiter, self.rates, Rate(rate_class))

    def protect(self, endpoint: Endpoint) -> ASGIApp:
        """Put the guard and the rate limit that a route declares before its handler."""
        return protect(endpoint, self.authentication, self.limiter, self.rates)

    def around(self, table: RouteTable) -> ASGIApp:
        """Put the limits of credentials and of unknown routes before the routing table."""
        limited = UnknownRouteLimit(table, RequestCount(self.limiter, self.rates, UNKNOWN_ROUTE))
        return CredentialLimit(limited, self.limiter, self.rates, table.rate_of)


def build_ingress(
    settings: Settings,
    pools: Pools,
    clock: Clock,
    limiter: RateLimiter,
    authentication: Authentication,
) -> IngressServices:
    """Build the rate limits before the routes, the meter, and the route of its counts."""
    meter = Meter(pools.background, clock)
    networks = {
        name: Access(Grant.FACILITATOR, is_optional=not own.needs_key)
        for name, own in settings.networks.items()
    }
    return IngressServices(
        limiter,
        settings.ingress.rates,
        authentication,
        PaymentAccess(networks, meter),
        endpoints=usage_endpoints(Usage(pools.reads, clock)),
        tasks=[
            restart_on_failure(Loop("ingress counts", limiter.run), clock),
            restart_on_failure(Loop("usage", meter.run), clock),
        ],
        resources=[meter],
    )
