"""The catalog's listings of a wrapper: its routes, or itself, on each of its networks."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from farebox.catalog import wrapper_listing_store
from farebox.catalog.discovery.drop_reason import Dropped
from farebox.catalog.discovery.reader import DiscoveryReader, ReadFailed
from farebox.catalog.listing import ListedTerms
from farebox.catalog.listing_store import lock_places, read_documents
from farebox.catalog.search_document import SearchIndex
from farebox.catalog.wrapper_listing_store import WrapperListing
from farebox.gateway.offers.offer import MAX_TIMEOUT_S, GatewayUrl, WrapperOffer, build_offer
from farebox.gateway.wrapper import (
    OtherPaths,
    PricedCall,
    Wrapper,
    WrapperSettings,
    WrapperTerm,
    route_terms,
)
from farebox.gateway.wrappers.wrapper_fields import InvalidWrapper
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.storage.pool import Connection
from farebox.x402.extensions import DiscoveryText
from farebox.x402.wire import SCHEME


class TooManyListings(Refusal):
    """The owner's wrappers have the maximum number of listings for a recipient on a network."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.TOO_MANY_LISTINGS)


class CatalogListings:
    """Writes the listings of wrappers into the catalog and its search index.

    `is_listed` is False where the gateway's URL is one that the catalog does not list.
    """

    def __init__(
        self,
        index: SearchIndex,
        reader: DiscoveryReader,
        clock: Clock,
        gateway: GatewayUrl,
        *,
        places: int,
        is_listed: bool = True,
    ) -> None:
        self._index, self._reader, self._clock = index, reader, clock
        self._gateway, self._places = gateway, places
        self._is_listed = is_listed

    async def prepare(self, slug: str, settings: WrapperSettings) -> Sequence[WrapperListing]:
        """Make the listings of a wrapper, judged as the catalog judges every listing.

        Raises:
            InvalidWrapper: the catalog does not take one of them.
            Outage: they cannot be judged now.
        """
        if not self._is_listed:
            return ()
        offers = list(_offers(slug, settings, self._gateway))
        return [
            await self._judge(offer, terms)
            for offer, all_terms in offers
            for terms in _by_network(all_terms)
        ]

    async def put(
        self, db: Connection, wrapper: Wrapper, listings: Sequence[WrapperListing]
    ) -> None:
        """Show exactly these listings of an enabled wrapper, found by the next search.

        Anybody may name an account as the recipient: an owner's listings take no places of others.

        Raises:
            TooManyListings: the owner has the maximum number for a recipient.
        """
        now = self._clock.now()
        for network, pay_to in sorted({(each.network, each.pay_to) for each in listings}):
            await lock_places(db, network, wrapper.owner, pay_to)
            own = sum((each.network, each.pay_to) == (network, pay_to) for each in listings)
            others = await wrapper_listing_store.count_other_keys(
                db, network, pay_to, wrapper.owner, wrapper.id
            )
            if own + others > self._places:
                raise TooManyListings
        shown = [
            await wrapper_listing_store.put_listing(db, wrapper.id, each, at=now)
            for each in sorted(listings, key=lambda each: (each.network, each.resource.key))
        ]
        gone = await wrapper_listing_store.take_down(db, wrapper.id, but=shown, at=now)
        await self._index.put(db, await read_documents(db, shown))
        await self._index.remove(db, gone)

    async def remove(self, db: Connection, wrapper: Wrapper) -> None:
        """Take every listing of the wrapper down, from the next search on."""
        gone = await wrapper_listing_store.take_down(db, wrapper.id, at=self._clock.now())
        await self._index.remove(db, gone)

    async def _judge(self, offer: WrapperOffer, terms: Sequence[WrapperTerm]) -> WrapperListing:
        encode = msgspec.json.encode
        text = DiscoveryText(encode(offer.resource), encode(offer.discovery)).to_bytes()
        pay_to = terms[0].pay_to
        try:
            read = await self._reader.read(text, pay_to=pay_to)
        except ReadFailed:
            raise InvalidWrapper("routes", "The catalog cannot read one of the schemas.") from None
        if isinstance(read, Dropped):
            detail = f" ({read.detail})" if read.detail else ""
            raise InvalidWrapper("routes", f"The catalog refuses it: {read.reason}{detail}.")
        listed = tuple(
            ListedTerms(SCHEME, each.asset, each.amount, each.pay_to, MAX_TIMEOUT_S)
            for each in terms
        )
        return WrapperListing(terms[0].network, read.resource, pay_to, listed)


def _offers(
    slug: str, settings: WrapperSettings, gateway: GatewayUrl
) -> Iterator[tuple[WrapperOffer, tuple[WrapperTerm, ...]]]:
    """Yield the offer of each route, and that of the wrapper's own price where it has one."""
    if not settings.routes or settings.other_paths is OtherPaths.BASE:
        method = settings.method or "GET"
        call = PricedCall(settings.terms)
        yield build_offer(slug, settings, call, gateway, method=method), settings.terms
    for route in settings.routes:
        terms = route_terms(settings, route)
        call = PricedCall(terms, route)
        path = route.template.path
        yield build_offer(slug, settings, call, gateway, method=route.method, path=path), terms


def _by_network(terms: Sequence[WrapperTerm]) -> Iterator[tuple[WrapperTerm, ...]]:
    ordered = sorted(terms, key=lambda each: each.network)
    for _, same in groupby(ordered, key=lambda each: each.network):
        yield tuple(same)
