"""Which payment a request is about, whatever its bytes look like."""

from dataclasses import dataclass

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network


@dataclass(frozen=True, slots=True)
class PaymentIdentity:
    """Network, payer and authorization nonce: what the ledger itself lets happen only once.

    Envelope bytes and base64 text are malleable and so are no identity.
    """

    network: Network
    payer: Address
    nonce: int
