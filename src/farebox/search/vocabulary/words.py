"""Other words a query may have meant: a mistyped one put right, or one that stands for it.

Only what the catalog has is proposed, so that nothing is looked for in vain.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from farebox.search import word_store
from farebox.search.scope_store import ONE_PLAN
from farebox.search.vocabulary.alternative import Alternative, Kinship
from farebox.search.vocabulary.synonyms import Standin, Synonyms, synonym_groups
from farebox.search.vocabulary.typo import corrections, one_slip_from, slips_allowed
from farebox.search.vocabulary.written import Written, is_rather, nothing_written
from farebox.search.word_store import AskedWord
from farebox.storage.pool import Connection, Database

MOST: Final = 4  # alternatives of a word
_READ: Final = 40  # words of a query
_MISTYPED: Final = 6  # words of a query that are put right
_CORRECTED: Final = 2  # ways one is put right
_PERCENT: Final = {1: 90, 2: 75}  # by slips

_Found = dict[str, dict[str, Alternative]]  # by the asked word and the one in its place


def no_words() -> frozenset[str]:
    """No list of words at hand."""
    return frozenset()


class CatalogWords:
    """A `Words`; one for a process.

    `general` gives words that are spelt right though no listing has them, such as names of places:
    those are never put right. `read_written` is called once, in a thread, and gives how often words
    are written: others are put right only where that makes a slip likely.
    """

    def __init__(
        self,
        general: Callable[[], frozenset[str]] = no_words,
        read_written: Callable[[], Written] = nothing_written,
    ) -> None:
        self._general = general
        self._read_written = read_written
        self._written: asyncio.Future[Written] | None = None
        self._synonyms: Synonyms | None = None
        self._listed: frozenset[str] = frozenset()

    async def expand(
        self, database: Database, words: Sequence[str]
    ) -> Mapping[str, Sequence[Alternative]]:
        """At most four alternatives a word, best first; a word without any is left out.

        The first call reads both lists before it opens a transaction, which would outlast its bound
        on a busy machine.
        """
        synonyms, written = await self._known_synonyms(database), await self._known_written()
        async with database.snapshot(ONE_PLAN) as db:
            return await self._expand(db, words, synonyms, written)

    async def _expand(
        self, db: Connection, words: Sequence[str], synonyms: Synonyms, written: Written
    ) -> Mapping[str, Sequence[Alternative]]:
        asked = await word_store.look_up(db, list(dict.fromkeys(words))[:_READ])
        found: _Found = {}
        right = await self._put_right(db, asked, written, found)
        stems = [right.get(each.word, each.stem) for each in asked]
        for standin in synonyms.standins(stems):
            _stand_in(standin, [each.word for each in asked[standin.start : standin.end]], found)
        await _keep_known(db, found)
        return {
            word: sorted(others.values(), key=lambda each: (-each.weight, each.word))[:MOST]
            for word, others in found.items()
            if others
        }

    async def _put_right(
        self, db: Connection, asked: Sequence[AskedWord], written: Written, found: _Found
    ) -> dict[str, str]:
        """Corrections go into `found`; returns the stem of the likeliest for each mistyped word."""
        general = self._general()
        unknown = [
            each.word
            for each in asked
            if not each.is_known
            and slips_allowed(each.word)
            and each.word not in general
            and each.word not in self._listed
        ][:_MISTYPED]
        if not unknown:
            return {}
        alike = await _alike(db, unknown)
        best: dict[str, str] = {}
        for word, others in alike.items():
            likely = [each for each in others if is_rather(each[0], word, written)]
            for right, slips in corrections(word, likely)[:_CORRECTED]:
                best.setdefault(word, right)
                found.setdefault(word, {})[right] = Alternative(
                    right, _PERCENT[slips], Kinship.TYPO
                )
        stems = await word_store.read_stems(db, list(best.values()))
        return {word: stems[right] for word, right in best.items()}

    async def _known_written(self) -> Written:
        if self._written is None or _has_failed(self._written):
            loop = asyncio.get_running_loop()
            self._written = loop.run_in_executor(None, self._read_written)
        return await asyncio.shield(self._written)  # one that leaves does not end it for others

    async def _known_synonyms(self, database: Database) -> Synonyms:
        if self._synonyms is None:
            groups = synonym_groups()
            self._listed = frozenset(
                word
                for group in groups
                for entry in (*group.entries, *group.offered)
                for word in entry
            )
            async with database.connection() as db:
                stems = await word_store.read_stems(db, sorted(self._listed))
            self._synonyms = Synonyms(groups, stems)
        return self._synonyms


def _has_failed(reading: asyncio.Future[Written]) -> bool:
    """Whether it ended without the list, so that the next search reads it again."""
    return reading.done() and (reading.cancelled() or reading.exception() is not None)


async def _alike(db: Connection, words: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
    """The catalog's words that lie near each of these, with the texts that have them."""
    near = {word: one_slip_from(word) for word in words}
    texts = await word_store.count_texts(db, sorted(set[str]().union(*near.values())))
    found = {word: [(each, texts[each]) for each in near[word] & texts.keys()] for word in words}
    farther = [word for word in words if not found[word] and slips_allowed(word) > 1]
    if farther:
        for each in await word_store.words_alike(db, farther):
            found[each.asked].append((each.word, each.texts))
    return found


def _stand_in(standin: Standin, words: Sequence[str], found: _Found) -> None:
    """Every word of the run may be met by what stands for the whole of it."""
    text = " ".join(standin.entry)
    for word in words:
        others = found.setdefault(word, {})
        corrected = max((each.weight for each in others.values() if _is_typo(each)), default=100)
        percent = standin.percent * corrected // 100
        if word not in standin.entry and (text not in others or others[text].weight < percent):
            others[text] = Alternative(text, percent, Kinship.SYNONYM)


def _is_typo(alternative: Alternative) -> bool:
    return alternative.kinship is Kinship.TYPO


async def _keep_known(db: Connection, found: _Found) -> None:
    """What the catalog has not is left out; corrections come from the catalog."""
    proposed = [
        other
        for others in found.values()
        for other in others.values()
        if other.kinship is Kinship.SYNONYM
    ]
    parts = {part for other in proposed for part in other.word.split()}
    known = await word_store.known_words(db, sorted(parts)) if parts else set[str]()
    for others in found.values():
        for text in [each for each in others if not _is_known(others[each], known)]:
            del others[text]


def _is_known(alternative: Alternative, known: Iterable[str]) -> bool:
    return _is_typo(alternative) or all(part in known for part in alternative.word.split())
