import pytest

from farebox.app.account_services import build_accounts
from farebox.app.catalog_services import build_catalog
from farebox.app.configuration import read_settings
from farebox.app.database_pools import build_pools
from farebox.app.ingress_services import build_ingress
from farebox.ingress.rate_limiter import RateLimiter
from farebox.kernel.secret import Secret
from support.listings import no_gateway
from support.manual_clock import ManualClock

NOWHERE = "postgresql:///nowhere"


@pytest.mark.parametrize(("given", "is_run"), [({}, False), ({"FAREBOX_CATALOG_PROBE": "1"}, True)])
def test_probe_loop_runs_only_when_configured(given: dict[str, str], is_run: bool) -> None:
    settings, clock = read_settings(given, needs_network=False), ManualClock()
    pools = build_pools(Secret(NOWHERE), settings.connections)
    limiter = RateLimiter(pools.counting, clock)
    authentication = build_accounts(settings, pools, clock, limiter).authentication
    ingress = build_ingress(settings, pools, clock, limiter, authentication)
    services = build_catalog(settings, pools, clock, {}, ingress, no_gateway())
    assert ("probes" in {loop.name for loop in services.tasks}) is is_run
