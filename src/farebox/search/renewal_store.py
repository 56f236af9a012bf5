"""Texts whose vectors are of an earlier generation, as their listings say them now."""

from collections.abc import Sequence
from dataclasses import dataclass

from farebox.catalog.listing_store import read_document
from farebox.search.model_text import text_of
from farebox.semantic.generation import BUCKETS
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class Outdated:
    """Some texts to be read again, and behind which digest to go on; None at the end."""

    texts: Sequence[tuple[bytes, str]]
    next: bytes | None


async def read_outdated(db: Connection, *, after: bytes, most: int) -> Outdated:
    """Of the next `most` vectors of an earlier generation, the texts that a listing has."""
    digests = [
        row["text_digest"]
        for row in await db.fetch(
            """
            SELECT text_digest FROM search_vectors
            WHERE text_digest > $1 AND bucket < $2 ORDER BY text_digest LIMIT $3
            """,
            after,
            BUCKETS.start,
            most,
        )
    ]
    rows = await db.fetch(
        """
        SELECT DISTINCT ON (d.text_digest)
               d.text_digest, l.id, l.network, l.type, l.url, l.tool_name, l.service_name, l.tags,
               l.description, l.parameters, l.updated_at, 0 AS payers
        FROM search_documents d JOIN listings l ON l.id = d.listing_id
        WHERE d.text_digest = ANY ($1::bytea[]) AND d.died IS NULL
        ORDER BY d.text_digest, l.id
        """,
        digests,
    )
    texts = [(row["text_digest"], text_of(read_document(row))) for row in rows]
    return Outdated(texts, digests[-1] if len(digests) == most else None)
