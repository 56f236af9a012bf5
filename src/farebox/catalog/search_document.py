"""What of a listing is searched, from the words that weigh most to those that weigh least."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from farebox.catalog.listing import ListingType
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """One listing's words and what orders equals."""

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
    """Where search finds its documents; written in the transaction that writes the listing."""

    async def put(self, db: Connection, documents: Sequence[SearchDocument]) -> None:
        """The documents are found as they stand here, once the transaction is committed."""
        ...

    async def remove(self, db: Connection, listing_ids: Sequence[int]) -> None:
        """The listings are found no more."""
        ...
