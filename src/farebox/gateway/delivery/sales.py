"""Sales at the gateway, for the catalog: they count for the listings of wrappers."""

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from farebox.catalog.discovery.canonical_url import CanonicalUrl, read_url
from farebox.catalog.discovery.public_host import is_local
from farebox.catalog.listing import host_of
from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.delivery import payment_store
from farebox.gateway.offers.offer import GatewayUrl
from farebox.storage.pool import Connection

_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


class OwnSales:
    """Tells the gateway's URLs and payments from all others.

    Every URL of this service's hosts is reserved, whatever its port and path: a path has many
    spellings, and a template covers many paths. `other_hosts` are further names of this service.
    Of this machine only the gateway's port is reserved: others may sell at the others.
    """

    def __init__(self, gateway: GatewayUrl, *, other_hosts: Collection[str] = ()) -> None:
        parts = urlsplit(gateway.origin)
        port = f":{parts.port}" if parts.port else ""
        own = _read_urls("https", [parts.hostname or "", *other_hosts])
        self._hosts = {host for host in map(host_of, own) if not is_local(host)}
        machine = [parts.netloc.removesuffix(port), *_LOOPBACK]
        is_on_machine = not self._hosts & {parts.hostname}
        at_port = _read_urls(parts.scheme, [name + port for name in machine])
        self._origins = tuple(at_port) if is_on_machine else ()

    def is_own(self, url: str) -> bool:
        """Whether a canonical URL is one of this service."""
        return host_of(url) in self._hosts or url.startswith(self._origins)

    async def find_wrapper(self, db: Connection, identity: PaymentIdentity) -> str | None:
        """Find the id of the wrapper that a payment was presented to."""
        return await payment_store.find_wrapper_id(db, identity)


def _read_urls(scheme: str, authorities: Collection[str]) -> list[str]:
    """Return the canonical URLs of the roots of these authorities, of those that have one."""
    read = (read_url(f"{scheme}://{each}/", is_local_allowed=True) for each in authorities)
    return [str(url) for url in read if isinstance(url, CanonicalUrl)]
