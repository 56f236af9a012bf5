"""The search as a whole and with stages taken away, asked as the service asks it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from eval.labelled import Query
from eval.metrics import DEPTH
from eval.scores import Answer
from farebox.kernel.clock import SystemClock
from farebox.search.meaning.meaning import LanguageModel
from farebox.search.meaning.meanings import StoredMeanings
from farebox.search.read_texts import TextReader
from farebox.search.search import Hit, Search, SearchRequest
from farebox.search.vocabulary.words import CatalogWords
from farebox.search.vocabulary.written import read_written
from farebox.semantic.encoder import Encoder, load_encoder
from farebox.storage.pool import Database
from testing.machine import RunFailed

ALL: Final = "all"
WITHOUT_MODEL: Final = "without_model"
STRICT: Final = "strict"
RELAXED: Final = "relaxed"
MEANING: Final = "with_meaning_alone"
_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Engine:
    """One way to search."""

    search: Search
    is_strict: bool = False  # only what has every word

    async def ask(self, query: Query, ids: Mapping[int, str]) -> Answer:
        """What is found for a query, best first."""
        request = SearchRequest(query.text, limit=2 * DEPTH, is_explained=self.is_strict)
        page = await self.search.find(request)
        hits = [hit for hit in page.hits if not self.is_strict or _has_every_word(hit)]
        return Answer(query, tuple(ids[hit.listing.id] for hit in hits[:DEPTH]))

    async def ask_all(self, queries: Sequence[Query], ids: Mapping[int, str]) -> list[Answer]:
        """One answer a query, in their order."""
        return [await self.ask(query, ids) for query in queries]


def _has_every_word(hit: Hit) -> bool:
    return hit.why is not None and hit.why.score.is_full


async def read_texts(database: Database, model: LanguageModel) -> None:
    """Every listing's words and meaning are known to the search, as seconds after its listing."""
    reader = TextReader(database, model, SystemClock())
    while await reader.read_some():
        pass


def no_model() -> Encoder | None:
    """No language model at hand."""
    return None


async def engines_of(
    database: Database, model: LanguageModel, *, stages: Sequence[str]
) -> dict[str, Engine]:
    """The engines of these names; the model has to be there for those that need it.

    Raises:
        RunFailed: it is not.
    """
    has_model = await model.is_present()
    if not has_model and {ALL, MEANING} & set(stages):
        raise RunFailed("the language model is not installed: scripts/setup dev installs it")
    clock, meanings = SystemClock(), StoredMeanings(SystemClock())
    plain = Search(database, clock)
    made = {
        STRICT: lambda: Engine(plain, is_strict=True),
        RELAXED: lambda: Engine(plain),
        MEANING: lambda: Engine(Search(database, clock, meaning=model, meanings=meanings)),
        WITHOUT_MODEL: lambda: Engine(
            Search(database, clock, words=CatalogWords(read_written=read_written))
        ),
        ALL: lambda: Engine(
            Search(
                database,
                clock,
                meaning=model,
                meanings=meanings,
                words=CatalogWords(model.words, read_written),
            )
        ),
    }
    return {name: made[name]() for name in stages}


def encoder() -> LanguageModel:
    """The language model as the service loads it, with time enough on a busy machine."""
    return LanguageModel(load_encoder, wait_s=_PATIENCE_S)
