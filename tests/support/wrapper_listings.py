"""The gateway as the catalog's tests see it: its URLs are of a host that no other test names."""

from typing import Final

from farebox.gateway.delivery.sales import OwnSales
from farebox.gateway.offers.offer import GatewayUrl

GATEWAY: Final = GatewayUrl("https://pay.example.org")


def no_gateway() -> OwnSales:
    """A gateway without sales."""
    return OwnSales(GATEWAY)
