"""Which URLs are this service's own."""

import pytest

from farebox.catalog.discovery.canonical_url import CanonicalUrl, read_url
from farebox.gateway.delivery.sales import OwnSales
from farebox.gateway.offers.offer import GatewayUrl

SALES = OwnSales(
    GatewayUrl("https://pay.example.com"), other_hosts=["pay.example.org", "xn--mnchen-3ya.example"]
)
LOCAL = OwnSales(GatewayUrl("http://127.0.0.1:8402"))


def canonical(text: str) -> str:
    """The URL as the catalog has it."""
    url = read_url(text, is_local_allowed=True)
    assert isinstance(url, CanonicalUrl)
    return str(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://pay.example.com/gateway", "https://pay.example.com/gateway/weather",
        "https://pay.example.com/gateway/weather/a?b=1", "https://pay.example.com/gateway?x=1",
        "https://pay.example.org/gateway/weather", "https://pay.example.com//gateway/weather",
        "https://pay.example.com/Gateway/weather", "https://pay.example.com/%67ateway/weather",
        "https://pay.example.com/gateway%2Fweather",
        "https://pay.example.com/./x/../gateway/weather", "https://pay.example.com/",
        "https://pay.example.com", "https://pay.example.com/:a/:b", "https://pay.example.com/mcp",
        "https://pay.example.com:8443/gateway/weather", "HTTPS://PAY.EXAMPLE.COM./gateway/weather",
        "https://MÜNCHEN.example/gateway/weather",
    ],
)  # fmt: skip
def test_every_spelling_of_a_url_of_this_service_is_own(url: str) -> None:
    assert SALES.is_own(canonical(url))


@pytest.mark.parametrize(
    "url",
    [
        "https://pay.example.com.evil.example/gateway/weather",
        "https://evil.example/gateway/weather",
        "https://evil.example/?u=https://pay.example.com/gateway/weather",
        "https://www.pay.example.com/gateway",
        "http://127.0.0.1:8402/gateway",
        "mcp://tool/gateway",
    ],
)
def test_other_url_is_not_own(url: str) -> None:
    assert not SALES.is_own(canonical(url))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_gateway_of_this_machine_reserves_its_port_alone(host: str) -> None:
    assert LOCAL.is_own(canonical(f"http://{host}:8402//gateway/weather"))
    assert not LOCAL.is_own(canonical(f"http://{host}:8403/gateway/weather"))
    assert not LOCAL.is_own(canonical(f"http://{host}/gateway/weather"))
