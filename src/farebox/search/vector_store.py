"""Vectors of texts in PostgreSQL, and the documents whose vectors are near a given one.

A search looks at the signatures of a few buckets inside one index, by the number of differing bits,
and reads the vectors of the nearest alone. No extension of the server is needed for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, LiteralString

from farebox.search.scope import Scope, View
from farebox.search.scope_store import IN_SCOPE, IN_SCOPE_OF_RECIPIENT, SETTLED, scope_arguments
from farebox.semantic.generation import BUCKETS, POINTS
from farebox.storage.pool import Connection

if TYPE_CHECKING:
    from farebox.semantic.space import BucketProbe, Code

_MOST_SEEN: Final = 10_000  # signatures of one search, however full its buckets are
_MOST_OF_RECIPIENT: Final = 5_000  # documents of one recipient that are looked at
_ROW_BYTES: Final = 620  # of the table, about


@dataclass(frozen=True, slots=True)
class FoundVector:
    """A document and its text's vector."""

    document_id: int
    vector: bytes


@dataclass(frozen=True, slots=True)
class BucketSizes:
    """About how many vectors there are, as a power of two, and the shares of the larger buckets."""

    total: int
    shares: dict[int, float]

    def of(self, bucket: int) -> int:
        """About how many vectors a bucket holds."""
        others = max(1 - sum(self.shares.values()), 0) / max(POINTS - len(self.shares), 1)
        return int(self.total * self.shares.get(bucket, others))


async def put_vectors(db: Connection, codes: Sequence[tuple[bytes, "Code"]]) -> None:
    """Each text's vector is kept; one of this generation or a later that is kept already stays."""
    await db.execute(
        """
        INSERT INTO search_vectors (text_digest, bucket, signature, vector)
        SELECT digest, bucket, ('x' || signature)::bit(384), vector
        FROM unnest($1::bytea[], $2::smallint[], $3::text[], $4::bytea[])
            AS new (digest, bucket, signature, vector)
        ORDER BY digest
        ON CONFLICT (text_digest) DO UPDATE
        SET bucket = excluded.bucket, signature = excluded.signature, vector = excluded.vector,
            born = pg_current_xact_id(), born_at = clock_timestamp(), used_at = now()
        WHERE search_vectors.bucket < $5
        """,
        [digest for digest, _ in codes],
        [code.bucket for _, code in codes],
        [code.signature.hex() for _, code in codes],
        [code.vector for _, code in codes],
        BUCKETS.start,
    )


async def touch_vectors(db: Connection, digests: Sequence[bytes]) -> set[bytes]:
    """Those of the texts that have a vector of this generation; they count as used now."""
    rows = await db.fetch(
        """
        UPDATE search_vectors SET used_at = now() WHERE text_digest IN (
            SELECT text_digest FROM search_vectors
            WHERE text_digest = ANY ($1::bytea[]) AND bucket >= $2
            ORDER BY text_digest FOR UPDATE)
        RETURNING text_digest
        """,
        digests,
        BUCKETS.start,
    )
    return {row["text_digest"] for row in rows}


async def read_sizes(db: Connection) -> BucketSizes:
    """What the server's own statistics say; rounded, so that it changes seldom. Under 1 ms."""
    row = await db.fetchrow(
        """
        SELECT round(log(2, greatest(pg_relation_size('search_vectors') / $1, 1)::numeric))::int
                   AS doublings,
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
    shares = zip(row["buckets"] or (), row["shares"] or (), strict=True)
    return BucketSizes(1 << row["doublings"], dict(shares))


async def nearest(
    db: Connection,
    probe: "BucketProbe",
    buckets: Sequence[int] | None,
    scope: Scope,
    *,
    pool: int,
    most: int,
) -> list[FoundVector]:
    """Of the `pool` texts whose signatures differ least from the probe's, documents in the scope.

    At most `most`, those of the least difference. `buckets` None looks at all texts: for tables
    that are read in no time.
    """
    rows = await db.fetch(
        _nearest(is_all=buckets is None),
        *scope_arguments(scope),
        probe.signature.hex(),
        pool,
        most,
        *([BUCKETS[0], BUCKETS[-1]] if buckets is None else [buckets, _MOST_SEEN]),
    )
    return [FoundVector(row["id"], row["vector"]) for row in rows]


async def nearest_of_recipient(
    db: Connection, probe: "BucketProbe", scope: Scope, *, most: int
) -> list[FoundVector]:
    """As `nearest`, of one recipient's documents alone, however far they are from the probe."""
    rows = await db.fetch(
        _NEAREST_OF_RECIPIENT,
        *scope_arguments(scope),
        probe.signature.hex(),
        _MOST_OF_RECIPIENT,
        most,
        BUCKETS[0],
        BUCKETS[-1],
    )
    return [FoundVector(row["id"], row["vector"]) for row in rows]


async def read_vectors(db: Connection, view: View, digests: Sequence[bytes]) -> dict[bytes, bytes]:
    """The vectors these texts had in this view, by digest."""
    rows = await db.fetch(
        """
        SELECT text_digest, vector FROM search_vectors
        WHERE text_digest = ANY ($1::bytea[]) AND bucket BETWEEN $4 AND $5
          AND ($2::text IS NULL OR born_at < $3::timestamptz
               OR pg_visible_in_snapshot(born, $2::text::pg_snapshot))
        """,
        digests,
        view.snapshot,
        view.at - SETTLED,
        BUCKETS[0],
        BUCKETS[-1],
    )
    return {row["text_digest"]: row["vector"] for row in rows}


async def delete_unused(
    db: Connection, *, after: bytes, used_before: datetime, most: int
) -> bytes | None:
    """Of the next `most` texts, the vectors no listing has had since then are gone.

    Returns where to go on; None at the end.
    """
    rows = await db.fetch(
        """
        WITH page AS MATERIALIZED (
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


_IN_VIEW: Final[LiteralString] = """
    ($6::text IS NULL OR v.born_at < $7::timestamptz
     OR pg_visible_in_snapshot(v.born, $6::text::pg_snapshot))
"""
_DIFFERENCE: Final[LiteralString] = "bit_count(v.signature # (SELECT ('x' || $8::text)::bit(384)))"


def _nearest(*, is_all: bool) -> LiteralString:
    within: LiteralString = (
        "search_vectors v WHERE v.bucket BETWEEN $11 AND $12 AND"
        if is_all
        else """(SELECT * FROM search_vectors
                 WHERE bucket = ANY ($11::smallint[]) LIMIT $12) AS v WHERE"""
    )
    return f"""
        WITH near AS MATERIALIZED (
            SELECT v.text_digest, {_DIFFERENCE} AS difference
            FROM {within} {_IN_VIEW}
            ORDER BY difference, v.text_digest LIMIT $9),
        found AS MATERIALIZED (
            SELECT d.id, near.text_digest, near.difference
            FROM near JOIN search_documents d ON d.text_digest = near.text_digest
            WHERE {IN_SCOPE}
            ORDER BY near.difference, d.id LIMIT $10)
        SELECT found.id, kept.vector FROM found JOIN search_vectors kept USING (text_digest)
    """


_NEAREST_OF_RECIPIENT: Final[LiteralString] = f"""
    WITH own AS MATERIALIZED (
        SELECT d.id, d.text_digest
        FROM listings l JOIN search_documents d ON d.listing_id = l.id
        WHERE l.pay_to = $3 AND {IN_SCOPE_OF_RECIPIENT}
        ORDER BY d.updated_at DESC, d.id LIMIT $9)
    SELECT own.id, v.vector
    FROM own JOIN search_vectors v ON v.text_digest = own.text_digest
    WHERE v.bucket BETWEEN $11 AND $12 AND {_IN_VIEW}
    ORDER BY {_DIFFERENCE}, own.id LIMIT $10
"""
