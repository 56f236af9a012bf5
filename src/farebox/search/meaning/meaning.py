"""What a text means, by the language model, beside the event loop.

Without the model there is no meaning to be had, and everything else works as it does with it.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import structlog

from farebox.search.meaning.recent import Recent
from farebox.search.meaning.senses import Sense
from farebox.search.model_text import passages_of
from farebox.semantic.encoder import Encoder
from farebox.semantic.weights import LEARNED

if TYPE_CHECKING:
    from farebox.semantic.space import Code

NAME: Final = f"{LEARNED}/int8"
_REMEMBERED: Final = 2048  # queries whose meaning is kept
_PAIRS: Final = 8192  # of texts read together that are kept
_MOST_JUDGED: Final = 4  # queries whose listings are being read; a further one goes without it
_MOST_ASKED: Final = 16  # queries that wait for the model; a further one goes without it
WAIT_S: Final = 0.4  # for one query's meaning
_LONGEST: Final = 512  # characters of a query that are read

log = structlog.get_logger(__name__)


class LanguageModel:
    """A `Meaning`. One query is read at a time, one batch of listings, and one query with listings.

    `load` is called once, in a thread, when a meaning is first asked for; it returns None where
    there is no model. Use it as an async context manager.
    """

    name = NAME

    def __init__(self, load: Callable[[], Encoder | None], *, wait_s: float = WAIT_S) -> None:
        self._load, self._wait_s = load, wait_s
        self._for_queries = ThreadPoolExecutor(1, thread_name_prefix="query-meaning")
        self._for_judging = ThreadPoolExecutor(1, thread_name_prefix="judgement")
        self._for_listings = ThreadPoolExecutor(1, thread_name_prefix="listing-meaning")
        self._loading: asyncio.Future[Encoder | None] | None = None
        self._remembered: Recent[str, Sense] = Recent(_REMEMBERED)
        self._judged: Recent[tuple[str, str], int] = Recent(_PAIRS)
        self._asked = 0
        self._judging = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for threads in (self._for_queries, self._for_judging, self._for_listings):
            threads.shutdown(wait=False, cancel_futures=True)

    async def is_present(self) -> bool:
        """Whether there is a model; loads it if that was not tried yet."""
        return await self._encoder() is not None

    def words(self) -> frozenset[str]:
        """Words the model knows as they are spelt; none before it is loaded."""
        encoder = self._loading.result() if self._loading and self._loading.done() else None
        return encoder.words if encoder else frozenset()

    async def encode(self, query: str) -> Sense | None:
        """The query's meaning; None without a model, or when it cannot be had within `wait_s`.

        Equal queries mean the same, whatever their case and spacing.
        """
        text = _as_read(query)
        known = self._remembered.get(text)
        if known is not None:
            return known
        if not text or self._asked >= _MOST_ASKED:
            return None
        self._asked += 1
        try:
            async with asyncio.timeout(self._wait_s):
                return await self._encode(text)
        except TimeoutError:
            log.info("semantic.late")
            return None
        finally:
            self._asked -= 1

    async def log_odds(self, request: str, texts: Sequence[str]) -> list[int] | None:
        """How surely each text answers the request, in thousandths; None as for `encode`.

        What could not be had in time is known the next time.
        """
        asked = _as_read(request)
        known = {text: self._judged.get((asked, text)) for text in texts}
        new = [text for text, odds in known.items() if odds is None]
        if new:
            found = await self._judge(asked, new)
            if found is None:
                return None
            known |= zip(new, found, strict=True)
        return [odds for text in texts if (odds := known[text]) is not None]

    async def codes(self, texts: Sequence[str]) -> "list[Code] | None":
        """What is kept of each text, in order; None without a model. It may take a second."""
        encoder = await self._encoder()
        if encoder is None:
            return None
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._for_listings, _codes, encoder, texts)

    async def _judge(self, asked: str, texts: Sequence[str]) -> list[int] | None:
        encoder = await self._encoder()
        if encoder is None or self._judging >= _MOST_JUDGED:
            return None
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(self._for_judging, _log_odds, encoder, asked, texts)
        self._judging += 1
        reading.add_done_callback(lambda done: self._judgement(asked, texts, done))
        try:
            async with asyncio.timeout(self._wait_s):
                return await asyncio.shield(reading)
        except TimeoutError:
            log.info("semantic.judgement_late")
            return None

    def _judgement(
        self, asked: str, texts: Sequence[str], done: "asyncio.Future[list[int] | None]"
    ) -> None:
        """It is known from here on, though nobody may wait for it any more."""
        self._judging -= 1
        found = None if done.cancelled() else done.result()
        for text, log_odds in zip(texts, found or (), strict=False):
            self._judged.put((asked, text), log_odds)

    async def _encode(self, text: str) -> Sense | None:
        encoder = await self._encoder()
        if encoder is None:
            return None
        loop = asyncio.get_running_loop()
        sense = await loop.run_in_executor(self._for_queries, _sense, encoder, text)
        if sense is not None:
            self._remembered.put(text, sense)
        return sense

    async def _encoder(self) -> Encoder | None:
        if self._loading is None:
            loop = asyncio.get_running_loop()
            self._loading = loop.run_in_executor(self._for_listings, _load_or_none, self._load)
        return await asyncio.shield(self._loading)  # one that leaves does not end it for others


def _load_or_none(load: Callable[[], Encoder | None]) -> Encoder | None:
    """Load the model; None when that fails in whatever way: words alone must still find."""
    try:
        return load()
    except Exception:
        log.exception("semantic.not_loaded")
        return None


def _as_read(query: str) -> str:
    return " ".join(query[:_LONGEST].casefold().split())


# The model is there, so numpy is: these need it, and a service without either never gets here.
def _sense(encoder: Encoder, text: str) -> Sense | None:
    """None where the model cannot read it: a caller's text must not end a search."""
    from farebox.semantic.space import as_bytes

    try:
        return Sense(as_bytes(encoder.encode([text]))[0])
    except Exception:
        log.exception("semantic.unreadable_query")
        return None


def _log_odds(encoder: Encoder, asked: str, texts: Sequence[str]) -> list[int] | None:
    """None where the model cannot read them: a text of some seller must not end a search."""
    try:
        return [round(1000 * each) for each in encoder.together(asked, texts).tolist()]
    except Exception:
        log.exception("semantic.unreadable")
        return None


def _codes(encoder: Encoder, texts: Sequence[str]) -> "list[Code]":
    from farebox.semantic.space import known_space, middles

    passages = [passages_of(text) for text in texts]
    rows = encoder.encode([passage for own in passages for passage in own])
    return known_space().codes(middles(rows, [len(own) for own in passages]))
