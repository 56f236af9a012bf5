"""A search index that keeps its documents for a test, and fails on request."""

from collections.abc import Sequence

from farebox.catalog.search_document import SearchDocument
from farebox.storage.pool import Connection


class RecordingIndex:
    """Keeps the last document of each listing."""

    def __init__(self) -> None:
        self.documents: dict[int, SearchDocument] = {}
        self.breaks_on: str | None = None  # in a document's description

    async def put(self, db: Connection, documents: Sequence[SearchDocument]) -> None:
        """Keep the documents.

        Raises:
            ValueError: the description of one contains `breaks_on`.
        """
        if self.breaks_on is not None and any(
            self.breaks_on in each.description for each in documents
        ):
            raise ValueError("the index is broken")
        self.documents |= {each.listing_id: each for each in documents}

    async def remove(self, db: Connection, listing_ids: Sequence[int]) -> None:
        """Remove the documents of these listings."""
        for each in listing_ids:
            self.documents.pop(each, None)
