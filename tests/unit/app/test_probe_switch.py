import pytest

from farebox.app.account_services import build_accounts
from farebox.app.catalog_services import build_catalog
from farebox.app.configuration import read_settings
from farebox.app.ingress_services import build_ingress
from farebox.kernel.secret import Secret
from support.manual_clock import ManualClock

NOWHERE = "postgresql:///nowhere"


@pytest.mark.parametrize(("given", "is_run"), [({}, False), ({"FAREBOX_CATALOG_PROBE": "1"}, True)])
def test_resources_are_probed_only_where_that_is_asked_for(
    given: dict[str, str], is_run: bool
) -> None:
    settings, url, clock = read_settings(given, needs_network=False), Secret(NOWHERE), ManualClock()
    authenticates = build_accounts(settings, url, clock).authenticates
    ingress = build_ingress(settings, url, clock, authenticates)
    services = build_catalog(settings, url, clock, {}, ingress)
    assert ("probes" in {loop.name for loop in services.tasks}) is is_run
