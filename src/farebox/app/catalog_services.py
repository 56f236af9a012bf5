"""The composition root of the catalog: constructors only, top to bottom.

It has connections of its own, so that nothing the catalog or a search waits for can keep a
connection from a settlement.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.routing import BaseRoute

from farebox.app.assembly import Loop
from farebox.app.ingress_services import IngressServices
from farebox.app.outbound_services import build_outbound
from farebox.app.restarted_loop import restarted
from farebox.app.settings import Settings
from farebox.catalog.discovery.read import read_discovery
from farebox.catalog.http import discovery_routes
from farebox.catalog.ingestion.ingest import Ingestion
from farebox.catalog.ingestion.outbox import Outbox
from farebox.catalog.ingestion.report import SettledListings
from farebox.catalog.origin.binding_store import StoredBindings
from farebox.catalog.origin.offers import Origin
from farebox.catalog.origin.probe import Prober
from farebox.catalog.origin.takeover import Takeover
from farebox.catalog.quality.count import QualityCount
from farebox.catalog.shown.browse import Browse
from farebox.catalog.tokens.lookup import TokenLookup
from farebox.catalog.validate import Validation
from farebox.catalog.validate_http import TURNS, validate_routes
from farebox.facilitator.listing_report import ListingReports
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.search.http import search_routes
from farebox.search.index_store import StoredIndex
from farebox.search.meaning.meaning import LanguageModel
from farebox.search.meaning.meanings import StoredMeanings
from farebox.search.prune import Pruning
from farebox.search.read_texts import TextReader
from farebox.search.search import Search
from farebox.search.vocabulary.words import CatalogWords
from farebox.search.vocabulary.written import read_written
from farebox.semantic.encoder import absence, load_encoder
from farebox.stellar.rpc import SorobanRpc
from farebox.storage.pool import Database

_WRITERS: Final = 4
_WRITE_S: Final = 2.0
_KEEPERS: Final = 3  # for what nobody waits for
_KEEP_S: Final = 10.0
_READERS: Final = 8
_READ_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class CatalogServices:
    """The catalog as constructed, nothing of it running yet."""

    reports: ListingReports
    routes: Sequence[BaseRoute] = ()
    tasks: Sequence[Loop] = ()
    # entered in this order before the loops start, left in reverse after they ended
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def absence_of_meaning(settings: Settings) -> str | None:
    """Why the search goes by words alone; None when it looks for what is meant too."""
    return absence() if settings.searches_meaning else "FAREBOX_SEARCH_SEMANTIC is off"


def _no_encoder() -> None:
    return None


def build_catalog(
    settings: Settings,
    url: Secret[str],
    clock: Clock,
    nodes: Mapping[Network, SorobanRpc],
    ingress: IngressServices,
) -> CatalogServices:
    """Everything that lists, browses and searches."""
    writing = _database(url, "catalog", _WRITERS, within_s=_WRITE_S)
    upkeep = _database(url, "upkeep", _KEEPERS, within_s=_KEEP_S)
    reading = _database(url, "search", _READERS, within_s=_READ_S)
    read = partial(read_discovery, is_local_allowed=settings.lists_local_urls)
    index = StoredIndex()
    ingestion = Ingestion(writing, index, read)
    outbound = build_outbound(settings.outbound)
    origin = Origin(outbound)
    takeover = Takeover(origin, StoredBindings(writing))
    validation = Validation(origin, is_local_allowed=settings.lists_local_urls)
    outbox = Outbox(writing, ingestion, clock, takeovers=takeover)
    model = LanguageModel(load_encoder if settings.searches_meaning else _no_encoder)
    loops = [
        Loop("listings", outbox.run),
        Loop("listing checks", outbox.run_checks),
        Loop("listed tokens", TokenLookup(upkeep, nodes, clock).run),
        Loop("listing quality", QualityCount(upkeep, index, clock).run),
        Loop("search versions", Pruning(upkeep, clock).run),
        Loop("search texts", TextReader(upkeep, model, clock).run),
        *_probes(settings, Prober(upkeep, origin, clock)),
    ]
    return CatalogServices(
        reports=ListingReports(SettledListings(ingestion)),
        routes=[
            *discovery_routes(Browse(reading)),
            *search_routes(_search(reading, model, clock)),
            *validate_routes(validation, ingress.turns("validate", most=TURNS)),
        ],
        tasks=[restarted(loop, clock) for loop in loops],
        resources=[outbound, writing, upkeep, reading, model],
    )


def _database(url: Secret[str], name: str, connections: int, *, within_s: float) -> Database:
    return Database(
        url,
        connections=connections,
        wait_s=within_s,
        statement_s=within_s,
        name=f"farebox-{name}",
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
