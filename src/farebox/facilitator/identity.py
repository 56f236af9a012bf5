"""Which payment a request is about, whatever its bytes look like."""

from collections.abc import Sequence
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

    @property
    def row_key(self) -> tuple[str, str, int]:
        """What the payment's row is found by."""
        return self.network.value, self.payer, self.nonce


def row_keys(identities: Sequence[PaymentIdentity]) -> tuple[list[str], list[str], list[int]]:
    """What the rows of many payments are found by, one list a column."""
    return (
        [identity.network.value for identity in identities],
        [identity.payer for identity in identities],
        [identity.nonce for identity in identities],
    )
