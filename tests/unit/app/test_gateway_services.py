"""The gateway as it is built from the settings."""

import pytest

from farebox.app.gateway_services import gateway_sales
from support.environments import read_changed


@pytest.mark.parametrize("host", ["pay.example.com", "pay.example.net", "pay.example.org"])
def test_each_name_of_the_service_is_reserved(host: str) -> None:
    sales = gateway_sales(
        read_changed(
            FAREBOX_PUBLIC_URL="https://pay.example.com",
            FAREBOX_ALLOWED_HOSTS="pay.example.net,pay.example.org",
        )
    )
    assert sales.is_own(f"https://{host}/weather")
    assert not sales.is_own(f"https://other.{host}/weather")


def test_names_of_the_service_are_reserved_where_no_public_url_is_set() -> None:
    sales = gateway_sales(read_changed(FAREBOX_ALLOWED_HOSTS="pay.example.net"))
    assert sales.is_own("https://pay.example.net/weather")
