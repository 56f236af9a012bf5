"""Vectors of texts in PostgreSQL, and which of them are near a given one.

A search looks at the signatures of a few buckets inside one index, by the number of differing bits,
and reads the vectors of the nearest alone. No extension of the server is needed for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from farebox.storage.pool import Connection

if TYPE_CHECKING:
    from farebox.semantic.space import Code, Probe

_MOST_SEEN: Final = 60_000  # signatures of one search, however full its first bucket is
_ROW_BYTES: Final = 600  # of the table, about


@dataclass(frozen=True, slots=True)
class KeptVector:
    """A text's vector as it is kept."""

    text_digest: bytes
    vector: bytes


@dataclass(frozen=True, slots=True)
class BucketSizes:
    """About how many vectors there are, in all and in each bucket, as of the last statistics."""

    total: int
    sizes: dict[int, int]  # of the larger buckets

    def of(self, bucket: int) -> int:
        """About how many vectors a bucket holds."""
        return self.sizes.get(bucket, self._other)

    @property
    def _other(self) -> int:
        return max(self.total - sum(self.sizes.values()), 0) // max(1024 - len(self.sizes), 1)


async def put_vectors(db: Connection, codes: Sequence[tuple[bytes, "Code"]]) -> None:
    """Each text's vector is kept; one that is kept already stays."""
    await db.execute(
        """
        INSERT INTO search_vectors AS kept (text_digest, bucket, signature, vector)
        SELECT digest, bucket, ('x' || signature)::bit(384), vector
        FROM unnest($1::bytea[], $2::smallint[], $3::text[], $4::bytea[])
            AS new (digest, bucket, signature, vector)
        ORDER BY digest
        ON CONFLICT (text_digest) DO NOTHING
        """,
        [digest for digest, _ in codes],
        [code.bucket for _, code in codes],
        [code.signature.hex() for _, code in codes],
        [code.vector for _, code in codes],
    )


async def touch_vectors(db: Connection, digests: Sequence[bytes]) -> set[bytes]:
    """Those of the texts that have a vector; they count as used now."""
    rows = await db.fetch(
        """
        UPDATE search_vectors SET used_at = now() WHERE text_digest IN (
            SELECT text_digest FROM search_vectors
            WHERE text_digest = ANY ($1::bytea[]) ORDER BY text_digest FOR UPDATE)
        RETURNING text_digest
        """,
        digests,
    )
    return {row["text_digest"] for row in rows}


async def read_sizes(db: Connection) -> BucketSizes:
    """What the database's own statistics say of the buckets; it costs less than a millisecond."""
    row = await db.fetchrow(
        """
        SELECT pg_relation_size('search_vectors') / $1 AS total,
               common.most_common_vals::text::smallint[] AS buckets,
               common.most_common_freqs::float8[] AS shares
        FROM (SELECT) AS one
        LEFT JOIN pg_stats AS common ON common.schemaname = current_schema()
            AND common.tablename = 'search_vectors' AND common.attname = 'bucket'
        """,
        _ROW_BYTES,
    )
    if row is None:
        return BucketSizes(0, {})
    total = row["total"]
    shares = zip(row["buckets"] or (), row["shares"] or (), strict=True)
    return BucketSizes(total, {bucket: int(share * total) for bucket, share in shares})


async def nearest(
    db: Connection, probe: "Probe", buckets: Sequence[int] | None, *, most: int
) -> list[KeptVector]:
    """The `most` vectors whose signatures differ least from the probe's, in these buckets.

    None looks at all of them: for tables that are read in no time.
    """
    rows = await db.fetch(
        _NEAREST_OF_ALL if buckets is None else _NEAREST,
        probe.signature.hex(),
        most,
        *([] if buckets is None else [buckets, _MOST_SEEN]),
    )
    return [KeptVector(row["text_digest"], row["vector"]) for row in rows]


async def read_vectors(db: Connection, digests: Sequence[bytes]) -> list[KeptVector]:
    """The vectors of these texts, as far as they were made."""
    rows = await db.fetch(
        "SELECT text_digest, vector FROM search_vectors WHERE text_digest = ANY ($1::bytea[])",
        digests,
    )
    return [KeptVector(row["text_digest"], row["vector"]) for row in rows]


async def delete_unused(
    db: Connection, *, after: bytes, used_before: datetime, most: int
) -> bytes | None:
    """Of the next `most` texts, the vectors no listing has had since then are gone.

    Returns where to go on; None at the end.
    """
    rows = await db.fetch(
        """
        WITH page AS (
            SELECT text_digest FROM search_vectors WHERE text_digest > $1
            ORDER BY text_digest LIMIT $3),
        gone AS (
            DELETE FROM search_vectors AS kept USING page
            WHERE kept.text_digest = page.text_digest AND kept.used_at < $2
              AND NOT EXISTS (
                SELECT FROM search_documents WHERE text_digest = page.text_digest))
        SELECT text_digest FROM page ORDER BY text_digest
        """,
        after,
        used_before,
        most,
    )
    return bytes(rows[-1]["text_digest"]) if len(rows) == most else None


_NEAREST: Final = """
    WITH near AS MATERIALIZED (
        SELECT seen.text_digest
        FROM (SELECT text_digest, signature FROM search_vectors
              WHERE bucket = ANY ($3::smallint[]) LIMIT $4) AS seen
        ORDER BY bit_count(seen.signature # (SELECT ('x' || $1)::bit(384))), seen.text_digest
        LIMIT $2)
    SELECT kept.text_digest, kept.vector FROM near JOIN search_vectors AS kept USING (text_digest)
"""
_NEAREST_OF_ALL: Final = """
    SELECT text_digest, vector FROM search_vectors
    ORDER BY bit_count(signature # (SELECT ('x' || $1)::bit(384))), text_digest
    LIMIT $2
"""
