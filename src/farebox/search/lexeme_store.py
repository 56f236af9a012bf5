"""Lexemes and their statistics in PostgreSQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from farebox.search.lexemes import Lexed, quoted
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the database's own sample says of the documents' words."""

    documents: int
    with_lexeme: Mapping[str, int]  # the frequent ones only
    with_name: Mapping[str, int]


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
    """How many versions there are, counted up to `most`; beyond it the server's estimate."""
    count: int = await db.fetchval(
        """
        SELECT CASE WHEN counted < $1 THEN counted
               ELSE greatest(counted, (SELECT reltuples::bigint FROM pg_class
                                       WHERE oid = 'search_documents'::regclass)) END
        FROM (SELECT count(*) AS counted FROM (SELECT FROM search_documents LIMIT $1) AS part)
            AS first
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
    """The most common lexemes with the documents that have them, as last analyzed."""
    rows = await db.fetch(
        """
        SELECT attname, reltuples, most_common_elems::text::text[] AS elems,
               most_common_elem_freqs AS freqs
        FROM pg_stats JOIN pg_class ON pg_class.oid = 'search_documents'::regclass
        WHERE schemaname = current_schema() AND tablename = 'search_documents'
          AND attname IN ('hi', 'tsv')
        """
    )
    found = {"hi": dict[str, int](), "tsv": dict[str, int]()}
    documents = 0
    for row in rows:
        documents = max(int(row["reltuples"]), 0)
        pairs = zip(row["elems"] or (), row["freqs"] or (), strict=False)
        found[row["attname"]] = {lexeme: round(share * documents) for lexeme, share in pairs}
    return Statistics(documents, found["tsv"], found["hi"])


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
