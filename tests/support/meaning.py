"""Documents in the search's tables, read by the language model that is installed."""

from collections.abc import Sequence
from datetime import UTC, datetime

from farebox.catalog.listing import ListingFilters, ListingType
from farebox.catalog.search_document import SearchDocument
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.search.index_store import StoredIndex
from farebox.search.meaning.meaning import LanguageModel
from farebox.search.read_texts import TextReader
from farebox.search.scope import Scope, View
from farebox.storage.pool import Connection, Database

AT = datetime(2026, 11, 21, tzinfo=UTC)
EVERYTHING = Scope(View(AT), ListingFilters())


def document(
    listing_id: int, description: str, *, name: str = "", network: Network = Network.TESTNET
) -> SearchDocument:
    """A document of little more than a description."""
    return SearchDocument(
        listing_id=listing_id,
        network=network,
        type=ListingType.HTTP,
        service_name=name,
        tags=(),
        tool_name="",
        description=description,
        parameters="",
        url="https://example.com",
        updated_at=AT,
        payers=1,
    )


async def write(database: Database, documents: Sequence[SearchDocument]) -> None:
    """The documents stand in the index, their texts unread."""
    async with database.transaction() as db:
        await StoredIndex().put(db, documents)


async def read_all(database: Database, model: LanguageModel, clock: Clock) -> int:
    """Every waiting text is read; how many."""
    reader = TextReader(database, model, clock)
    total = 0
    while read := await reader.read_some():
        total += read
    return total


async def listing_ids(db: Connection, document_ids: Sequence[int]) -> list[int]:
    """Whose versions these are, in order."""
    rows = await db.fetch(
        "SELECT id, listing_id FROM search_documents WHERE id = ANY ($1::bigint[])", document_ids
    )
    listings = {row["id"]: row["listing_id"] for row in rows}
    return [listings[each] for each in document_ids]
