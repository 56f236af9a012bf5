"""The terms of a payment, as sellers write them in JSON."""

from typing import Any


def payment_requirements(
    network: str, asset: str, amount: int, pay_to: str, max_timeout_s: int
) -> dict[str, Any]:
    """Return the PaymentRequirements of the scheme `exact`."""
    return {
        "scheme": "exact",
        "network": str(network),
        "asset": asset,
        "amount": str(amount),
        "payTo": pay_to,
        "maxTimeoutSeconds": max_timeout_s,
        "extra": {"areFeesSponsored": True},
    }
