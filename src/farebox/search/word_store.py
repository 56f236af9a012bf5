"""The catalog's words in PostgreSQL: which are known, and which look like one that is not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from farebox.storage.pool import Connection

COUNTED_TO: Final = 200  # texts of one word; beyond it is a common word, and its row rests
_ALIKE: Final = 12  # words looked at for one that is not known


@dataclass(frozen=True, slots=True)
class AskedWord:
    """A word as it was asked for: its stem, and whether the catalog has one of that stem."""

    word: str
    stem: str
    is_known: bool


@dataclass(frozen=True, slots=True)
class AlikeWord:
    """A word of the catalog that looks like one that was asked for."""

    asked: str
    word: str
    texts: int


async def add_words(db: Connection, texts_by_word: Mapping[str, int]) -> None:
    """Each word has been seen in so many texts more; counting ends at `COUNTED_TO`."""
    await db.execute(
        """
        INSERT INTO search_words AS known (word, stem, texts)
        SELECT word, coalesce((ts_lexize('farebox_stem', word))[1], word), least(texts, $3)
        FROM unnest($1::text[], $2::int[]) AS seen (word, texts)
        ORDER BY word  -- two replicas lock the same rows in one order
        ON CONFLICT (word) DO UPDATE SET texts = least(known.texts + excluded.texts, $3)
        WHERE known.texts < $3
        """,
        list(texts_by_word.keys()),
        list(texts_by_word.values()),
        COUNTED_TO,
    )


async def delete_unseen(db: Connection, *, after: str, most: int) -> str | None:
    """Of the next `most` words, those that no version of a document has are gone.

    Common words and stop words stay. Returns where to go on; None at the end.
    """
    rows = await db.fetch(
        """
        WITH page AS MATERIALIZED (
            SELECT word, stem, texts FROM search_words WHERE word > $1 ORDER BY word LIMIT $2),
        gone AS (
            DELETE FROM search_words AS known USING page
            WHERE known.word = page.word AND page.texts < $3
              AND length(to_tsvector('farebox_text', page.word)) > 0
              AND NOT EXISTS (
                SELECT FROM search_documents
                WHERE tsv @@ quote_literal(page.stem)::tsquery))
        SELECT word FROM page ORDER BY word
        """,
        after,
        most,
        COUNTED_TO,
    )
    return str(rows[-1]["word"]) if len(rows) == most else None


async def unknown_words(db: Connection, words: Sequence[str]) -> set[str]:
    """Those of the words that were never seen."""
    rows = await db.fetch(
        """
        SELECT word FROM unnest($1::text[]) AS asked (word)
        WHERE NOT EXISTS (SELECT FROM search_words WHERE search_words.word = asked.word)
        """,
        words,
    )
    return {row["word"] for row in rows}


async def common_words(db: Connection, words: Sequence[str]) -> set[str]:
    """Those of the words that need no further counting."""
    rows = await db.fetch(
        "SELECT word FROM search_words WHERE word = ANY ($1::text[]) AND texts >= $2",
        words,
        COUNTED_TO,
    )
    return {row["word"] for row in rows}


async def read_stems(db: Connection, words: Sequence[str]) -> dict[str, str]:
    """The stem of each word, as the search's own dictionary makes it."""
    rows = await db.fetch(
        """
        SELECT word, coalesce((ts_lexize('farebox_stem', word))[1], word) AS stem
        FROM unnest($1::text[]) AS asked (word)
        """,
        words,
    )
    return {row["word"]: row["stem"] for row in rows}


async def look_up(db: Connection, words: Sequence[str]) -> list[AskedWord]:
    """Each word with its stem and whether the catalog has a word of that stem, in order."""
    rows = await db.fetch(
        """
        SELECT asked.word, asked.stem,
               EXISTS (SELECT FROM search_words WHERE stem = asked.stem) AS is_known
        FROM (SELECT word, place, coalesce((ts_lexize('farebox_stem', word))[1], word) AS stem
              FROM unnest($1::text[]) WITH ORDINALITY AS given (word, place)) AS asked
        ORDER BY asked.place
        """,
        words,
    )
    return [AskedWord(**row) for row in rows]


async def known_words(db: Connection, words: Sequence[str]) -> set[str]:
    """Those of the words whose stem a word of the catalog has; stop words are never missing."""
    rows = await db.fetch(
        """
        SELECT word FROM unnest($1::text[]) AS asked (word)
        WHERE EXISTS (SELECT FROM search_words
                      WHERE stem = coalesce((ts_lexize('farebox_stem', asked.word))[1], asked.word))
           OR length(to_tsvector('farebox_text', asked.word)) = 0
        """,
        words,
    )
    return {row["word"] for row in rows}


async def count_texts(db: Connection, words: Sequence[str]) -> dict[str, int]:
    """How many texts have each of the words, of those that any has."""
    rows = await db.fetch(
        "SELECT word, texts FROM search_words WHERE word = ANY ($1::text[])", words
    )
    return {row["word"]: row["texts"] for row in rows}


async def words_alike(db: Connection, words: Sequence[str]) -> list[AlikeWord]:
    """The catalog's words that share most letter triples with each of these, a bounded number."""
    rows = await db.fetch(
        """
        SELECT asked.word AS asked, alike.word, alike.texts
        FROM unnest($1::text[]) AS asked (word),
        LATERAL (
            SELECT word, texts FROM search_words
            WHERE search_words.word % asked.word
              AND abs(length(search_words.word) - length(asked.word)) <= 2
            ORDER BY similarity(search_words.word, asked.word) DESC, search_words.word
            LIMIT $2) AS alike
        """,
        words,
        _ALIKE,
    )
    return [AlikeWord(**row) for row in rows]
