import pytest

from farebox.app.catalog_services import build_catalog
from farebox.app.configuration import read_settings
from farebox.kernel.secret import Secret
from support.manual_clock import ManualClock


@pytest.mark.parametrize(("given", "is_run"), [({}, False), ({"FAREBOX_CATALOG_PROBE": "1"}, True)])
def test_resources_are_probed_only_where_that_is_asked_for(
    given: dict[str, str], is_run: bool
) -> None:
    settings = read_settings(given, needs_network=False)
    services = build_catalog(settings, Secret("postgresql:///nowhere"), ManualClock(), {})
    assert ("probes" in {loop.name for loop in services.tasks}) is is_run
