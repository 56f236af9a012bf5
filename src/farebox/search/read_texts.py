"""Reads what listings newly say: their words, to know spellings by, and their meaning.

A listing is found by its words as soon as it is written; by its meaning once it was read here, some
seconds later. Any number of replicas share the work.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from farebox.kernel.clock import Clock
from farebox.search import renewal_store, text_store, vector_store, word_store
from farebox.search.meaning.meaning import LanguageModel
from farebox.search.plain import GAP, plain_text
from farebox.search.text_store import WaitingText
from farebox.storage.faults import DatabaseUnavailable, LimitExceeded
from farebox.storage.pool import Connection, Database

if TYPE_CHECKING:
    from farebox.semantic.space import Code

_AT_ONCE: Final = 16  # texts: about a third of a second of one core
_IDLE_S: Final = 1.0
_SWEEP_EVERY_S: Final = 3600.0
_SWEEP_PAUSE_S: Final = 0.1  # between pages: nobody waits for it
_NEW_WORDS: Final = 300  # of one text: an honest one has a tenth of it once there are others
_COMMON: Final = 20_000  # words remembered as common
_SWEPT_AT_ONCE: Final = 500
_PAUSE_S: Final = 0.02  # between two batches: settlements and searches have priority
_RENEWED_AT_ONCE: Final = 64  # texts; a new listing waits behind as many
_UNUSED_FOR: Final = timedelta(days=1)
_WORD: Final = re.compile(r"[^\W\d_]{3,24}")

log = structlog.get_logger(__name__)


def words_of(text: str) -> list[str]:
    """The words of a text as the search compares them, each once and in their order.

    Without numbers and what is no word.
    """
    words = (word for word in plain_text(text).split() if _WORD.fullmatch(word))
    return [word for word in dict.fromkeys(words) if word != GAP]


def _bounded(words: Sequence[str], new: set[str]) -> list[str]:
    """The words of one text without those of `new` behind its first `_NEW_WORDS`."""
    kept = set(list(filter(new.__contains__, words))[:_NEW_WORDS])
    return [word for word in words if word not in new or word in kept]


class TextReader:
    """Reads texts as they come; `run` is its loop."""

    def __init__(self, database: Database, model: LanguageModel, clock: Clock) -> None:
        self._database, self._model, self._clock = database, model, clock
        self._swept_at: float | None = None
        self._common: set[str] = set()  # words that need no counting any more

    async def run(self) -> None:
        """Read for ever, one batch after another while there are texts."""
        while True:
            try:
                while await self.read_some():
                    await self._clock.sleep(_PAUSE_S)
                if self._is_time():
                    await self.renew()
                    await self._sweep()
            except DatabaseUnavailable:
                log.warning("search.texts_database_away")
            await self._clock.sleep(_IDLE_S)

    async def read_some(self) -> int:
        """Up to a batch of texts was read; how many. Nothing is held while the model works.

        Raises:
            DatabaseUnavailable: they are read a minute later, here or elsewhere.
        """
        async with self._database.connection() as db:
            if not await text_store.is_any(db):
                return 0
        has_model = await self._model.is_present()
        async with self._database.connection() as db:
            taken = await text_store.take_texts(db, most=_AT_ONCE, for_words_alone=not has_model)
            known = await vector_store.touch_vectors(db, [text.text_digest for text in taken])
        new = {text.text_digest: text.text for text in taken if text.text_digest not in known}
        codes = await self._codes(new) if has_model else []
        await self._keep(taken, dict(codes), of_words_alone=not has_model)
        return len(taken)

    async def _keep(
        self, taken: Sequence[WaitingText], codes: "Mapping[bytes, Code]", *, of_words_alone: bool
    ) -> None:
        """Words and meaning of the texts stand; one that cannot be kept harms no other."""
        digests = dict.fromkeys(text.text_digest for text in taken)
        ids = [text.id for text in taken]
        try:
            async with self._database.transaction() as db:
                found = [(digest, codes[digest]) for digest in digests if digest in codes]
                await vector_store.put_vectors(db, found)
                await self._add_words(db, [text for text in taken if not text.has_words])
                await text_store.finish_texts(db, ids, of_words_alone=of_words_alone)
        except Exception as error:
            if isinstance(error, DatabaseUnavailable) and not isinstance(error, LimitExceeded):
                raise
            if len(taken) > 1:
                for text in taken:
                    await self._keep([text], codes, of_words_alone=of_words_alone)
                return
            log.exception("search.text_not_kept", digest=taken[0].text_digest.hex())
            async with self._database.connection() as db:
                await text_store.finish_texts(db, ids, of_words_alone=False)

    async def _codes(self, texts: Mapping[bytes, str]) -> "list[tuple[bytes, Code]]":
        """What is kept of each text; one the model cannot read harms no other."""
        try:
            codes = await self._model.codes(list(texts.values()))
        except Exception:
            if len(texts) == 1:
                log.exception("search.text_unreadable", digest=next(iter(texts)).hex())
                return []
            alone = [await self._codes({digest: text}) for digest, text in texts.items()]
            return [each for codes in alone for each in codes]
        return list(zip(texts, codes or (), strict=False))

    async def _add_words(self, db: Connection, texts: Sequence[WaitingText]) -> None:
        words = [words_of(text.text) for text in texts]
        new = await word_store.unknown_words(db, sorted({word for each in words for word in each}))
        counts = Counter(word for each in words for word in _bounded(each, new))
        common = self._common & counts.keys()
        fresh = {word: count for word, count in counts.items() if word not in common}
        await word_store.add_words(db, fresh)
        if len(self._common) < _COMMON:
            self._common |= await word_store.common_words(db, list(fresh))

    async def renew(self) -> int:
        """Every text that was read by an earlier generation of the model was read anew; how many.

        Until then it is found by its words alone.
        """
        at: bytes | None = b""
        renewed = 0
        while at is not None:
            async with self._database.connection() as db:
                found = await renewal_store.read_outdated(db, after=at, most=_RENEWED_AT_ONCE)
            if found.texts and not await self._model.is_present():
                break
            async with self._database.transaction() as db:
                await text_store.add_texts(db, found.texts, has_words=True)
            at, renewed = found.next, renewed + len(found.texts)
            while await self.read_some():
                await self._clock.sleep(_PAUSE_S)
        if renewed:
            log.info("search.texts_renewed", texts=renewed)
        return renewed

    def _is_time(self) -> bool:
        now = self._clock.monotonic()
        if self._swept_at is not None and now - self._swept_at < _SWEEP_EVERY_S:
            return False
        self._swept_at = now
        return True

    async def _sweep(self) -> None:
        """Words and vectors that no listing has any more go."""
        word: str | None = ""
        while word is not None:
            async with self._database.connection() as db:
                word = await word_store.delete_unseen(db, after=word, most=_SWEPT_AT_ONCE)
            await self._clock.sleep(_SWEEP_PAUSE_S)
        before = self._clock.now() - _UNUSED_FOR
        at: bytes | None = b""
        while at is not None:
            async with self._database.connection() as db:
                at = await vector_store.delete_unused(
                    db, after=at, used_before=before, most=_SWEPT_AT_ONCE
                )
            await self._clock.sleep(_SWEEP_PAUSE_S)
            await self._clock.sleep(_SWEEP_PAUSE_S)
