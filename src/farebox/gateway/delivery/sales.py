"""Sales at the gateway, for the catalog: they count for the listings of wrappers."""

from collections.abc import Collection

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.delivery import payment_store
from farebox.gateway.offers.offer import GatewayUrl
from farebox.storage.pool import Connection


class OwnSales:
    """Tells the gateway's URLs and payments from all others.

    `other_hosts` are further names of this service: their gateway URLs are reserved too.
    """

    def __init__(self, gateway: GatewayUrl, *, other_hosts: Collection[str] = ()) -> None:
        origins = (gateway.origin, *(f"https://{host}" for host in other_hosts))
        self._bases = tuple(dict.fromkeys(origin + gateway.prefix for origin in origins))

    def is_own(self, url: str) -> bool:
        """Whether a canonical URL is below the gateway's."""
        return any(url.startswith(base) and url[len(base) :][:1] in "/?" for base in self._bases)

    async def find_wrapper(self, db: Connection, identity: PaymentIdentity) -> str | None:
        """Find the id of the wrapper that a payment was presented to."""
        return await payment_store.find_wrapper_id(db, identity)
