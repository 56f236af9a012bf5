"""Offers as sellers write them, for the tests of the buyer."""

from farebox.kernel.networks import Network
from farebox.stellar.known_tokens import USDC
from farebox.x402.headers import encode_header

SELLER = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"


def option_json(network: Network = Network.TESTNET, /, **changes: object) -> dict[str, object]:
    """One `accepts` entry; a change to None removes the member."""
    entry: dict[str, object] = {
        "scheme": "exact",
        "network": network.value,
        "asset": USDC[network].contract,
        "amount": "500000",
        "payTo": SELLER,
        "maxTimeoutSeconds": 60,
        "extra": {"areFeesSponsored": True},
    }
    entry |= changes
    return {name: value for name, value in entry.items() if value is not None}


def offer_json(*options: dict[str, object], **changes: object) -> dict[str, object]:
    """A PaymentRequired object."""
    body: dict[str, object] = {
        "x402Version": 2,
        "error": "Payment required",
        "resource": {"url": "http://seller.test/weather", "description": "Forecast"},
        "accepts": list(options) or [option_json()],
    }
    return body | changes


def offer_header(*options: dict[str, object], **changes: object) -> str:
    """The header that carries it."""
    return encode_header(offer_json(*options, **changes))
