"""In which fields documents meet tsqueries, in PostgreSQL."""

from collections.abc import Sequence
from typing import Final

from farebox.storage.pool import Connection

# by weight, A to D
FIELDS: Final = ("serviceName", "tags or toolName", "description", "parameters or url")


async def read_fields(
    db: Connection, document_ids: Sequence[int], queries: Sequence[str]
) -> dict[int, list[int]]:
    """For each document one number a query: bit n is set when field n alone meets it."""
    rows = await db.fetch(
        """
        SELECT d.id, ARRAY(
            SELECT (ts_filter(d.tsv, '{a}') @@ query::tsquery)::int
                 + (ts_filter(d.tsv, '{b}') @@ query::tsquery)::int * 2
                 + (ts_filter(d.tsv, '{c}') @@ query::tsquery)::int * 4
                 + (ts_filter(d.tsv, '{d}') @@ query::tsquery)::int * 8
            FROM unnest($2::text[]) WITH ORDINALITY AS probe (query, place) ORDER BY place) AS bits
        FROM search_documents d WHERE d.id = ANY ($1::bigint[])
        """,
        document_ids,
        queries,
    )
    return {row["id"]: row["bits"] for row in rows}
