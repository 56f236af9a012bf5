"""A payment: the seller's terms and the buyer's signed transaction."""

import hashlib
from dataclasses import dataclass

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.x402.extensions import DiscoveryText


@dataclass(frozen=True, slots=True)
class PaymentTerms:
    """The seller's requirements, parsed; the only terms a payment is judged by."""

    network: Network
    asset: Address
    amount: BaseUnits
    pay_to: Address
    max_timeout_s: int

    def canonical(self) -> str:
        """The canonical text of the terms, for hashing: equal terms have equal text."""
        spelled = (self.network, self.asset, self.amount, self.pay_to, self.max_timeout_s)
        return "\n".join(("exact", *map(str, spelled)))


@dataclass(frozen=True, slots=True)
class Payment:
    """One request to verify or settle: the terms and the signed envelope's bytes, verbatim."""

    terms: PaymentTerms
    transaction: Secret[bytes]
    # neither is signed, and neither is part of the digest
    identifier: str | None = None  # the buyer's name for the payment
    discovery: DiscoveryText | None = None  # the description of the resource

    @property
    def stored_discovery(self) -> bytes | None:
        """`discovery` as stored with the settlement; None when it is oversized."""
        text = self.discovery
        return None if text is None or text.is_oversized else text.to_bytes()

    def request_digest(self) -> bytes:
        """SHA-256 of the transaction's bytes and the canonical terms: it identifies equal requests.

        The terms are hashed first to a fixed length, so that no two pairs have the same input.
        """
        terms = hashlib.sha256(self.terms.canonical().encode()).digest()
        return hashlib.sha256(terms + self.transaction.reveal()).digest()
