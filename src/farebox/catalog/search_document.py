"""The searchable fields of a listing, from the highest weight to the lowest."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from farebox.catalog.listing import ListingType
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """One listing's text, and the values that order equal scores."""

    listing_id: int
    network: Network
    type: ListingType
    service_name: str
    tags: tuple[str, ...]
    tool_name: str
    description: str
    parameters: str
    url: str
    updated_at: datetime
    payers: int  # as in `Quality`


class SearchIndex(Protocol):
    """The search index; written in the transaction that writes the listing."""

    async def put(self, db: Connection, documents: Sequence[SearchDocument]) -> None:
        """Insert or replace the documents."""
        ...

    async def remove(self, db: Connection, listing_ids: Sequence[int]) -> None:
        """Remove the listings from the index."""
        ...
