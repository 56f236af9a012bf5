"""What the seller's answer to a paid request says about the money."""

import re
from dataclasses import dataclass
from typing import Final

from farebox.buyer.offer import printable
from farebox.kernel.networks import Network
from farebox.x402.headers import decode_header
from farebox.x402.reasons import REGISTRY, Reason, Retry

_HASH: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A `PAYMENT-RESPONSE`, read; `transaction` is "" when the seller says nothing was sent."""

    is_success: bool
    transaction: str
    network: str
    reason: str
    payer: str = ""

    @property
    def is_undecided(self) -> bool:
        """Whether the money may still move: repeating the same payment is the only safe step."""
        known = Reason(self.reason) if self.reason in set(Reason) else None
        return known is not None and REGISTRY[known].retry is Retry.RECONCILE

    def proves(self, network: Network) -> bool:
        """Whether this is a success on the network that was paid on."""
        return self.is_success and self.network == network and bool(self.transaction)


def read_receipt(header: str | None) -> Receipt | None:
    """Read a `PAYMENT-RESPONSE` header; None when it is absent or no settlement answer."""
    body = decode_header(header) if header is not None else None
    if body is None or not isinstance(body.get("success"), bool):
        return None
    transaction = body.get("transaction")
    is_hash = isinstance(transaction, str) and _HASH.match(transaction) is not None
    return Receipt(
        is_success=body["success"] is True,
        transaction=str(transaction) if is_hash else "",
        network=printable(body.get("network"), limit=64),
        reason=printable(body.get("errorReason"), limit=120),
        payer=printable(body.get("payer"), limit=64),
    )
