"""Verify by a resource's own 402 whether a recipient may take over the key of another."""

from types import MappingProxyType
from typing import Final

from farebox.catalog import listing_store
from farebox.catalog.ingestion.outbox import OwnershipVerdict
from farebox.catalog.listing import Resource
from farebox.catalog.origin.payment_required import OriginClient, OriginFailure, OriginFault
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.storage.pool import Database

# faults after which the resource may still answer
_TRANSIENT: Final = MappingProxyType(
    {
        OriginFault.NOT_ASKED: OwnershipVerdict.NOT_CHECKED,
        OriginFault.UNREACHABLE: OwnershipVerdict.UNKNOWN,
        OriginFault.NO_ANSWER: OwnershipVerdict.UNKNOWN,
    }
)


_MOST_BOUND: Final = 5  # bindings that a template covers and that are checked


class OriginOwnershipVerifier:
    """An `OwnershipVerifier` that fetches the 402 of the resources concerned."""

    def __init__(self, origins: OriginClient, database: Database) -> None:
        self._origins, self._database = origins, database

    async def verify(
        self, resource: Resource, network: Network, pay_to: Address
    ) -> OwnershipVerdict:
        """Decide whether the resource names `pay_to`, and no longer the recipient it is bound to.

        A resource that names both keeps its binding, so that two recipients cannot take it from
        each other in turns. A route template is one key for many URLs, and the owner of one URL
        may not own the others: the URL that made the binding is checked as well, and so are those
        of other recipients' keys that the template covers.

        Raises:
            DatabaseUnavailable: the binding cannot be read.
        """
        response = await self._origins.fetch_payment_required(
            resource.paid_url, method=resource.method
        )
        if isinstance(response, OriginFailure):
            return _TRANSIENT.get(response.fault, OwnershipVerdict.UNKNOWN)
        async with self._database.connection() as db:
            known = await listing_store.find_bound_origins(
                db, network, resource, pay_to, limit=_MOST_BOUND
            )
        if not response.names_recipient(network, pay_to):
            return OwnershipVerdict.DENIED
        if any(response.names_recipient(network, bound.pay_to) for bound in known):
            return OwnershipVerdict.DENIED
        for bound in known:
            if bound.paid_url in ("", resource.paid_url):
                continue
            verdict = await self._verify_bound_origin(bound, network)
            if verdict is not OwnershipVerdict.CONFIRMED:
                return verdict
        return OwnershipVerdict.CONFIRMED

    async def _verify_bound_origin(
        self, bound: listing_store.BoundOrigin, network: Network
    ) -> OwnershipVerdict:
        """Confirm the takeover unless the URL that made the binding still names its recipient."""
        response = await self._origins.fetch_payment_required(bound.paid_url, method=bound.method)
        if isinstance(response, OriginFailure):
            return _TRANSIENT.get(response.fault, OwnershipVerdict.CONFIRMED)
        is_upheld = response.names_recipient(network, bound.pay_to)
        return OwnershipVerdict.DENIED if is_upheld else OwnershipVerdict.CONFIRMED
