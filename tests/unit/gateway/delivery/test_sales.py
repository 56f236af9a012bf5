"""Which URLs are the gateway's own."""

import pytest

from farebox.gateway.delivery.sales import OwnSales
from farebox.gateway.offers.offer import GatewayUrl

SALES = OwnSales(GatewayUrl("https://pay.example.com"), other_hosts=["pay.example.org"])


@pytest.mark.parametrize(
    "url",
    [
        "https://pay.example.com/gateway",
        "https://pay.example.com/gateway/weather",
        "https://pay.example.com/gateway/weather/a?b=1",
        "https://pay.example.com/gateway?x=1",
        "https://pay.example.org/gateway/weather",
    ],
)
def test_url_below_the_gateway_is_own(url: str) -> None:
    assert SALES.is_own(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://pay.example.com/",
        "https://pay.example.com/gateways",
        "https://pay.example.com.evil.example/gateway/weather",
        "https://evil.example/gateway/weather",
        "https://evil.example/?u=https://pay.example.com/gateway/weather",
        "mcp://tool/gateway",
    ],
)
def test_other_url_is_not_own(url: str) -> None:
    assert not SALES.is_own(url)
