"""Lexemes and their statistics in PostgreSQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from farebox.search.ages import Ages
from farebox.search.vocabulary.lexemes import Lexed, quoted
from farebox.storage.pool import Connection, Row


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the database's own sample says of the documents' words."""

    documents: int
    with_lexeme: Mapping[str, int]  # the frequent ones only
    with_name: Mapping[str, int]
    ages: Ages = Ages()  # noqa: RUF009 - a frozen value
    with_filter: Mapping[str, int] = field(default_factory=dict)


async def read_lexed(db: Connection, words: Sequence[str]) -> dict[str, Lexed]:
    """Each word as names and as running text are indexed."""
    rows = await db.fetch(
        """
        SELECT word, tsvector_to_array(to_tsvector('farebox_names', word)) AS lexemes,
               length(to_tsvector('farebox_text', word)) = 0 AS is_stop
        FROM unnest($1::text[]) AS word
        """,
        words,
    )
    return {row["word"]: Lexed(tuple(row["lexemes"]), row["is_stop"]) for row in rows}


async def count_documents(db: Connection, *, most: int) -> int:
    """How many documents live, counted up to `most`; beyond it the estimate of all versions."""
    count: int = await db.fetchval(
        """
        SELECT CASE WHEN counted < $1 THEN counted
               ELSE greatest(counted, (SELECT reltuples::bigint FROM pg_class
                                       WHERE oid = 'search_documents'::regclass)) END
        FROM (SELECT count(*) AS counted FROM (SELECT FROM search_documents
                                              WHERE died IS NULL LIMIT $1) AS part) AS first
        """,
        most,
    )
    return count


async def count_living(db: Connection, lexemes: Sequence[str]) -> tuple[int, dict[str, int]]:
    """How many documents live, and how many of them have each lexeme: for small catalogs."""
    rows = await db.fetch(
        """
        SELECT query, (SELECT count(*) FROM search_documents d
                       WHERE d.died IS NULL AND (query = '' OR d.tsv @@ query::tsquery)) AS count
        FROM unnest($1::text[]) AS query
        """,
        ["", *(quoted(lexeme) for lexeme in lexemes)],
    )
    counts = [row["count"] for row in rows]
    return counts[0], dict(zip(lexemes, counts[1:], strict=True))


async def read_statistics(db: Connection) -> Statistics:
    """What the database last analyzed: common lexemes, ages, networks and types."""
    rows = await db.fetch(
        """
        SELECT attname, reltuples, most_common_elems::text::text[] AS elems,
               most_common_elem_freqs AS elem_freqs,
               CASE WHEN attname IN ('network', 'type')
                    THEN most_common_vals::text::text[] END AS vals,
               most_common_freqs AS freqs,
               CASE WHEN attname = 'updated_at'
                    THEN histogram_bounds::text::timestamptz[] END AS bounds
        FROM pg_stats JOIN pg_class ON pg_class.oid = 'search_documents'::regclass
        WHERE schemaname = current_schema() AND tablename = 'search_documents'
          AND attname IN ('hi', 'tsv', 'updated_at', 'network', 'type')
        """
    )
    known = {row["attname"]: row for row in rows}
    documents = max((int(row["reltuples"]) for row in rows), default=0)
    bounds = known["updated_at"]["bounds"] or () if "updated_at" in known else ()
    steps = max(len(bounds) - 1, 1)
    marks = [
        (documents * turn // steps, moment) for turn, moment in enumerate(reversed(bounds)) if turn
    ]
    return Statistics(
        documents,
        _counts(known.get("tsv"), "elems", "elem_freqs", documents),
        _counts(known.get("hi"), "elems", "elem_freqs", documents),
        Ages.of(documents, [*marks, *await _newest(db)]),
        _counts(known.get("network"), "vals", "freqs", documents)
        | _counts(known.get("type"), "vals", "freqs", documents),
    )


def _counts(row: Row | None, values: str, shares: str, documents: int) -> dict[str, int]:
    if row is None:
        return {}
    pairs = zip(row[values] or (), row[shares] or (), strict=False)
    return {value: round(share * documents) for value, share in pairs}


async def _newest(db: Connection) -> list[tuple[int, datetime]]:
    """How new the newest are, by counting: what came since the last analysis is among them."""
    rows = await db.fetch(
        """
        SELECT turn, updated_at
        FROM (SELECT updated_at, row_number() OVER (ORDER BY updated_at DESC) AS turn
              FROM (SELECT updated_at FROM search_documents
                    ORDER BY updated_at DESC LIMIT 16384) AS newest) AS numbered
        WHERE turn >= 512 AND turn & (turn - 1) = 0
        """
    )
    return [(row["turn"], row["updated_at"]) for row in rows]


async def look_for_phrase(
    db: Connection, phrase: str, lexemes: Sequence[str], *, most: int
) -> tuple[bool, int]:
    """Whether one of so many living documents that have all lexemes meets the tsquery too.

    The second is how many have been looked at.
    """
    row = await db.fetchrow(
        """
        SELECT count(*) AS read, coalesce(bool_or(tsv @@ $1::tsquery), false) AS is_met
        FROM (SELECT tsv FROM search_documents
              WHERE died IS NULL AND tsv @@ $2::tsquery LIMIT $3) AS part
        """,
        phrase,
        " & ".join(quoted(lexeme) for lexeme in lexemes),
        most,
    )
    return (row["is_met"], row["read"]) if row is not None else (False, 0)


async def count_up_to(
    db: Connection, lexemes: Sequence[str], *, most: int
) -> dict[str, tuple[int, int]]:
    """How many documents have each lexeme anywhere, and in names: counted up to `most`."""
    rows = await db.fetch(
        """
        SELECT (SELECT count(*) FROM (SELECT FROM search_documents d
                    WHERE d.tsv @@ query::tsquery LIMIT $2) AS part) AS count,
               (SELECT count(*) FROM (SELECT FROM search_documents d
                    WHERE d.hi @@ query::tsquery LIMIT $2) AS part) AS names
        FROM unnest($1::text[]) AS query
        """,
        [quoted(lexeme) for lexeme in lexemes],
        most,
    )
    pairs = [(row["count"], row["names"]) for row in rows]
    return dict(zip(lexemes, pairs, strict=True))
