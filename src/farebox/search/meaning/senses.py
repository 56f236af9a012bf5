"""What the search asks of meaning; the model and its vectors may be absent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NewType, Protocol

from farebox.search.scope import Scope, View
from farebox.storage.pool import Connection

# A query's vector as the store of vectors compares it: quantized, so that every replica computes
# the same likeness from it. It travels in cursors: at most 512 bytes.
Sense = NewType("Sense", bytes)


@dataclass(frozen=True, slots=True)
class Near:
    """A document whose meaning is near the query's."""

    document_id: int  # the version's, `search_documents.id`
    likeness: int  # cosine in thousandths, -1000 to 1000


class Meaning(Protocol):
    """The language model, in this process."""

    @property
    def name(self) -> str:
        """Which model and quantization: senses of two names are not compared."""
        ...

    def words(self) -> frozenset[str]:
        """Words it knows as they are spelt; none before it is loaded."""
        ...

    async def encode(self, query: str) -> Sense | None:
        """The query's meaning, computed off the event loop; None: none could be had in time."""
        ...

    async def log_odds(self, request: str, texts: Sequence[str]) -> Sequence[int] | None:
        """How surely each text answers the request, both read together: the logarithm of the odds
        in thousandths; None: it could not be had in time.
        """
        ...


class Meanings(Protocol):
    """The documents' vectors in the database; the caller's transaction is a snapshot."""

    async def near(self, db: Connection, sense: Sense, scope: Scope, *, most: int) -> list[Near]:
        """The nearest documents in the scope, nearest first, equals by document id.

        A vector that came after the view's snapshot does not count.
        """
        ...

    async def likeness(
        self, db: Connection, sense: Sense, view: View, digests: Sequence[bytes]
    ) -> Mapping[bytes, int]:
        """Cosine in thousandths for each text digest that had a vector in this view."""
        ...
