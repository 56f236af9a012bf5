"""A payment as both routes see it: what the seller asks, and what the buyer signed."""

import hashlib
from dataclasses import dataclass

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.x402.discovery import DiscoveryText


@dataclass(frozen=True, slots=True)
class PaymentTerms:
    """The seller's requirements, parsed; the only terms a payment is judged by."""

    network: Network
    asset: Address
    amount: BaseUnits
    pay_to: Address
    max_timeout_s: int

    def canonical(self) -> str:
        """One spelling of the terms, for hashing: equal terms have equal text."""
        spelled = (self.network, self.asset, self.amount, self.pay_to, self.max_timeout_s)
        return "\n".join(("exact", *map(str, spelled)))


@dataclass(frozen=True, slots=True)
class Payment:
    """One request to verify or settle: the terms and the signed envelope's bytes, verbatim."""

    terms: PaymentTerms
    transaction: Secret[bytes]
    # neither is signed, and neither is part of the digest
    identifier: str | None = None  # what the buyer calls it
    discovery: DiscoveryText | None = None  # what it says of the resource it pays for

    @property
    def kept_discovery(self) -> bytes | None:
        """What of `discovery` is kept with the settlement: all of it, or nothing of too much."""
        text = self.discovery
        return None if text is None or text.is_oversized else text.to_bytes()

    def request_digest(self) -> bytes:
        """SHA-256 of the transaction's bytes and the canonical terms: what makes two requests one.

        The terms are hashed first and have a fixed length then, so no two pairs run together.
        """
        terms = hashlib.sha256(self.terms.canonical().encode()).digest()
        return hashlib.sha256(terms + self.transaction.reveal()).digest()
