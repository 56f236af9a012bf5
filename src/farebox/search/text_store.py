"""Texts of listings whose words and meaning are still to be read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.storage.pool import Connection

_LEASE: Final = "1 minute"  # after which another replica takes a text up


@dataclass(frozen=True, slots=True)
class WaitingText:
    """A text that was taken up to be read."""

    id: int
    text_digest: bytes
    text: str
    has_words: bool


async def add_texts(
    db: Connection, texts: Sequence[tuple[bytes, str]], *, has_words: bool = False
) -> None:
    """The texts, by their digests, are read soon after the transaction is committed.

    `has_words` says that their words are known, so that only their meaning is wanting.
    """
    if not texts:
        return
    await db.execute(
        """
        INSERT INTO search_texts_waiting (text_digest, text, has_words)
        SELECT digest, text, $3 FROM unnest($1::bytea[], $2::text[]) AS new (digest, text)
        """,
        [digest for digest, _ in texts],
        [text for _, text in texts],
        has_words,
    )


async def is_any(db: Connection) -> bool:
    """Whether a text waits at all."""
    found: bool = await db.fetchval("SELECT EXISTS (SELECT FROM search_texts_waiting)")
    return found


async def take_texts(db: Connection, *, most: int, for_words_alone: bool) -> list[WaitingText]:
    """Up to `most` texts that nobody else has taken up; for a minute they are the caller's."""
    rows = await db.fetch(
        f"""
        UPDATE search_texts_waiting SET taken_until = now() + interval '{_LEASE}'
        WHERE id = ANY (ARRAY(
            SELECT id FROM search_texts_waiting
            WHERE taken_until < now() {"AND NOT has_words" if for_words_alone else ""}
            ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
        RETURNING id, text_digest, text, has_words
        """,
        most,
    )
    return [WaitingText(**row) for row in rows]


async def finish_texts(db: Connection, ids: Sequence[int], *, of_words_alone: bool) -> None:
    """The texts were read; those whose meaning is still wanting wait on for it."""
    if of_words_alone:
        await db.execute(
            """
            UPDATE search_texts_waiting SET has_words = true, taken_until = '-infinity'
            WHERE id = ANY ($1::bigint[])
            """,
            ids,
        )
    else:
        await db.execute("DELETE FROM search_texts_waiting WHERE id = ANY ($1::bigint[])", ids)
