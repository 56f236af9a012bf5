"""Documents of the search in PostgreSQL: versions are born, die, and are pruned."""

from collections.abc import Sequence
from datetime import datetime

from farebox.catalog.search_document import SearchDocument
from farebox.search.ages import age_lexemes
from farebox.search.model_text import text_of
from farebox.search.plain import GAP
from farebox.search.text_store import add_texts
from farebox.search.version import Fields, Standing, fields_of, is_new_version
from farebox.storage.pool import Connection


class StoredIndex:
    """A `SearchIndex`. The caller's transaction holds the listings' rows, so that two changes of
    one listing stand one behind the other."""

    async def put(self, db: Connection, documents: Sequence[SearchDocument]) -> None:
        """The documents are found as they stand here, once the transaction is committed.

        A listing named twice is found as named last.
        """
        latest = {document.listing_id: document for document in documents}
        found = await read_standing(db, list(latest))
        new: list[tuple[SearchDocument, Fields]] = []
        for listing_id, document in latest.items():
            fields = fields_of(document)
            now = Standing(fields.digest, document.updated_at, document.payers)
            old = found.get(listing_id)
            if old is None or is_new_version(old, now):
                new.append((document, fields))
        if new:
            await close_versions(
                db, [each.listing_id for each, _ in new if each.listing_id in found]
            )
            await insert_versions(db, new)
            await add_texts(
                db,
                [
                    (fields.digest, text_of(document))
                    for document, fields in new
                    if _is_new_text(found.get(document.listing_id), fields)
                ],
            )

    async def remove(self, db: Connection, listing_ids: Sequence[int]) -> None:
        """The listings are found no more."""
        await close_versions(db, listing_ids)


def _is_new_text(old: Standing | None, fields: Fields) -> bool:
    return old is None or old.digest != fields.digest


async def read_standing(db: Connection, listing_ids: Sequence[int]) -> dict[int, Standing]:
    """The living versions of these listings."""
    rows = await db.fetch(
        """
        SELECT listing_id, text_digest, updated_at, payers FROM search_documents
        WHERE listing_id = ANY ($1::bigint[]) AND died IS NULL
        """,
        listing_ids,
    )
    return {
        row["listing_id"]: Standing(row["text_digest"], row["updated_at"], row["payers"])
        for row in rows
    }


async def close_versions(db: Connection, listing_ids: Sequence[int]) -> None:
    """The listings' living versions die with this transaction."""
    if not listing_ids:
        return
    await db.execute(
        """
        WITH closed AS (
            UPDATE search_documents
            SET died = pg_current_xact_id(), died_at = clock_timestamp()
            WHERE listing_id = ANY ($1::bigint[]) AND died IS NULL
            RETURNING id, died_at)
        INSERT INTO search_graves (document_id, died_at) SELECT id, died_at FROM closed
        """,
        listing_ids,
    )


async def insert_versions(db: Connection, items: Sequence[tuple[SearchDocument, Fields]]) -> None:
    """Each item is a living version, born with this transaction."""
    await db.execute(
        """
        INSERT INTO search_documents
            (listing_id, updated_at, payers, type, network, text_digest, hi, tsv)
        SELECT item.listing_id, item.updated_at, item.payers, item.type, item.network,
               item.digest, words.hi || words.ages, words.hi || words.low || words.ages
        FROM unnest($1::bigint[], $2::timestamptz[], $3::int[], $4::text[], $5::text[],
                    $6::bytea[], $7::text[], $8::text[], $9::text[], $10::text[], $12::text[])
            AS item (listing_id, updated_at, payers, type, network,
                     digest, name, labels, description, parameters, ages),
        LATERAL (SELECT
            array_to_tsvector(string_to_array(item.ages, ' ')) AS ages,
            ts_delete(
                setweight(to_tsvector('farebox_names', item.name), 'A')
                || setweight(to_tsvector('farebox_names', $11 || ' ' || item.labels), 'B'),
                $11) AS hi,
            ts_delete(
                setweight(to_tsvector('farebox_text', $11 || ' ' || item.description), 'C')
                || setweight(to_tsvector('farebox_text', $11 || ' ' || item.parameters), 'D'),
                $11) AS low) AS words
        """,
        [document.listing_id for document, _ in items],
        [document.updated_at for document, _ in items],
        [min(document.payers, 2**31 - 1) for document, _ in items],
        [document.type.value for document, _ in items],
        [document.network.value for document, _ in items],
        [fields.digest for _, fields in items],
        [fields.name for _, fields in items],
        [fields.labels for _, fields in items],
        [fields.description for _, fields in items],
        [fields.parameters for _, fields in items],
        GAP,
        [" ".join(age_lexemes(document.updated_at)) for document, _ in items],
    )


async def prune_versions(db: Connection, *, died_before: datetime, most: int) -> int:
    """Up to `most` versions that died before then are gone; how many."""
    rows = await db.fetch(
        """
        DELETE FROM search_documents WHERE id = ANY (ARRAY(
            SELECT document_id FROM search_graves WHERE died_at < $1
            ORDER BY died_at LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING id
        """,
        died_before,
        most,
    )
    return len(rows)
