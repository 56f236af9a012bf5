"""The gateway of this service, as the catalog sees it."""

from typing import Protocol

from farebox.facilitator.settlement import PaymentIdentity
from farebox.storage.pool import Connection


class GatewaySales(Protocol):
    """Tells which URLs and payments are the gateway's."""

    def is_own(self, url: str) -> bool:
        """Whether a canonical URL is below the gateway's."""
        ...

    async def find_wrapper(self, db: Connection, identity: PaymentIdentity) -> str | None:
        """Find the id of the wrapper that a payment was presented to."""
        ...
