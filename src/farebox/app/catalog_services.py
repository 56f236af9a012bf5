"""The composition root of the catalog and search."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from urllib.parse import urlsplit

from farebox.app.assembly import Loop
from farebox.app.database_pools import Pools
from farebox.app.ingress_services import IngressServices
from farebox.app.lifespan import restart_on_failure
from farebox.app.settings import OutboundSettings, Settings
from farebox.catalog.browsing.browse import Browse
from farebox.catalog.discovery.reader_process import ReaderProcess
from farebox.catalog.http import discovery_endpoints
from farebox.catalog.ingestion.gateway_sales import GatewaySales
from farebox.catalog.ingestion.ingest import Ingestion, SettledListings
from farebox.catalog.ingestion.outbox import Outbox
from farebox.catalog.origin.http_origin_client import HttpOriginClient
from farebox.catalog.origin.ownership_verifier import OriginOwnershipVerifier
from farebox.catalog.origin.prober import Prober
from farebox.catalog.quality.quality_counter import QualityCounter
from farebox.catalog.tokens.lookup import TokenLookup
from farebox.catalog.validate import Validation
from farebox.catalog.validate_http import VALIDATIONS_PER_MINUTE, validate_endpoints
from farebox.facilitator.listing_report import ListingReports
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.outbound.client import MAX_CALLS, OutboundClient
from farebox.outbound.resolve import PublicResolver, SystemLookup
from farebox.search.http import search_endpoints
from farebox.search.index_store import StoredIndex
from farebox.search.meaning.meaning import LanguageModel
from farebox.search.meaning.meanings import StoredMeanings
from farebox.search.prune import Pruning
from farebox.search.read_texts import TextReader
from farebox.search.search import Search
from farebox.search.vocabulary.words import CatalogWords
from farebox.search.vocabulary.written import read_written
from farebox.semantic.encoder import absence, load_encoder
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.storage.pool import Database
from farebox.web.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class CatalogServices:
    """The constructed catalog; nothing runs yet."""

    reports: ListingReports
    index: StoredIndex
    reader: ReaderProcess
    search: Search
    endpoints: Sequence[Endpoint] = ()
    tasks: Sequence[Loop] = ()
    # entered in this order before the loops start, closed in reverse order after they end
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def absence_of_meaning(settings: Settings) -> str | None:
    """Why semantic search is off; None when it is on."""
    return absence() if settings.searches_meaning else "FAREBOX_SEARCH_SEMANTIC is off"


def _no_encoder() -> None:
    return None


def own_hosts(settings: Settings) -> frozenset[str]:
    """Return the names that the service answers under."""
    public = urlsplit(settings.sign_in.public_url or "").hostname
    return frozenset({*settings.ingress.allowed_hosts, *([public] if public else [])})


def build_outbound(
    settings: OutboundSettings,
    *,
    max_calls: int = MAX_CALLS,
    own_hosts: Collection[str] = (),
) -> OutboundClient:
    """Build an outbound client with its own limit of calls and its own lookups."""
    resolver = settings.test_resolver or PublicResolver(SystemLookup())
    return OutboundClient(
        resolver, authority=settings.test_authority, max_calls=max_calls, own_hosts=own_hosts
    )


def build_catalog(
    settings: Settings,
    pools: Pools,
    clock: Clock,
    nodes: Mapping[Network, SorobanRpc],
    ingress: IngressServices,
    gateway: GatewaySales,
) -> CatalogServices:
    """Build listing, browsing and search."""
    writing, upkeep, reading = pools.listing, pools.upkeep, pools.searching
    index, is_local = StoredIndex(), settings.lists_local_urls
    reader = ReaderProcess(is_local_allowed=is_local)
    ingestion = Ingestion(writing, index, reader, gateway)
    origin = HttpOriginClient(outbound := build_outbound(settings.outbound))
    asked = build_outbound(settings.outbound, own_hosts=own_hosts(settings))
    validation = Validation(HttpOriginClient(asked), reader, gateway, is_local_allowed=is_local)
    outbox = Outbox(writing, ingestion, clock, verifier=OriginOwnershipVerifier(origin, writing))
    validations = ingress.quota("validate", per_minute=VALIDATIONS_PER_MINUTE)
    model = LanguageModel(load_encoder if settings.searches_meaning else _no_encoder)
    loops = [
        Loop("listings", outbox.run),
        Loop("listing checks", outbox.run_checks),
        Loop("listed tokens", TokenLookup(upkeep, nodes, clock).run),
        Loop("listing quality", QualityCounter(upkeep, index, clock).run),
        Loop("search versions", Pruning(upkeep, clock).run),
        Loop("search texts", TextReader(upkeep, model, clock).run),
        *_probes(settings, Prober(upkeep, origin, clock)),
    ]
    return CatalogServices(
        ListingReports(SettledListings(ingestion, reader)),
        index,
        reader,
        search := _search(reading, model, clock),
        endpoints=[
            *discovery_endpoints(Browse(reading)),
            *search_endpoints(search),
            *validate_endpoints(validation, validations),
        ],
        tasks=[restart_on_failure(loop, clock) for loop in loops],
        resources=[outbound, asked, reader, model],
    )


def _probes(settings: Settings, prober: Prober) -> list[Loop]:
    return [Loop("probes", prober.run)] if settings.catalog_probe else []


def _search(database: Database, model: LanguageModel, clock: Clock) -> Search:
    return Search(
        database,
        clock,
        meaning=model,
        meanings=StoredMeanings(clock),
        words=CatalogWords(model.words, read_written),
    )
