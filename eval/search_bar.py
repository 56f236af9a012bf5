"""`make eval EVAL=search-bar`: what silence costs where listings are read with the request.

For each weight of the odds, the bar with which the most queries that nothing fits get nothing,
while the share in `least` of the others gets something: on the tuning half alone.
`farebox.search.meaning.doubt` has the weight and the bar that were chosen from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from eval.engines import ALL, Engine, encoder, engines_of, read_texts
from eval.ground import list_all, opened_database
from eval.labelled import DATA, Half, Kind, Query, read_labelled
from farebox.search.meaning.doubt import BAR, WEIGHT, Read
from farebox.search.search import SearchRequest
from testing.machine import say
from testing.report import run_and_report

_WEIGHTS: Final = (0, 25, 50, WEIGHT, 75, 100, 150, 200)
_LEAST: Final = (0.95, 0.96, 0.97)
_QUICK: Final = 60  # queries


@dataclass(frozen=True, slots=True)
class Asked:
    """A query and what the search made of it; nothing was read where it was clear."""

    is_in_vain: bool
    is_answered: bool
    read: tuple[Read, ...]

    def answered(self, weight: int, bar: int) -> bool:
        """Whether it would be, with another weight and bar."""
        if not self.read:
            return self.is_answered
        return any(_sum(each, weight) >= 1000 * bar for each in self.read)


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """The figures; there is nothing to fail.

    Raises:
        RunFailed: the language model is not there.
    """
    labelled = read_labelled(DATA)
    tuning = [each for each in labelled.queries if each.half is Half.TUNING]
    queries = [each for each in tuning if each.kind is not Kind.OBLIQUE]
    async with opened_database() as database, encoder() as model:
        await list_all(database, labelled.listings)
        await read_texts(database, model)
        engine = (await engines_of(database, model, stages=(ALL,)))[ALL]
        asked = [await _ask(engine, each) for each in (queries[:_QUICK] if quick else queries)]
    silence, answered = _shares(asked, WEIGHT, BAR)
    rows = {weight: [_best(asked, weight, least) for least in _LEAST] for weight in _WEIGHTS}
    for weight, row in rows.items():
        say(f"weight {weight}: {row}")
    return True, {
        "queries": len(asked),
        "read": sum(bool(each.read) for each in asked),
        "weight": WEIGHT,
        "bar": BAR,
        "silence": silence,
        "answered": answered,
        "least": _LEAST,
        "silence_and_bar_by_weight": rows,
    }


async def _ask(engine: Engine, query: Query) -> Asked:
    page = await engine.search.find(SearchRequest(query.text, is_explained=True))
    verdict = None if page.explanation is None else page.explanation.verdict
    read = () if verdict is None else tuple(verdict.read)
    return Asked(query.kind is Kind.NONE, bool(page.hits), read)


def _best(asked: Sequence[Asked], weight: int, least: float) -> tuple[float, int] | None:
    """The most silence with at least so much answered, and the bar; None: it cannot be had."""
    sums = {_sum(read, weight) // 1000 for each in asked for read in each.read}
    found = [(*_shares(asked, weight, bar), bar) for bar in sums]
    return max(((silence, bar) for silence, share, bar in found if share >= least), default=None)


def _shares(asked: Sequence[Asked], weight: int, bar: int) -> tuple[float, float]:
    """The share of queries that nothing fits without an answer, and of the others with one."""
    by_kind: dict[bool, list[bool]] = {True: [], False: []}
    for each in asked:
        by_kind[each.is_in_vain].append(each.answered(weight, bar))
    in_vain, others = by_kind[True], by_kind[False]
    return round(1 - sum(in_vain) / len(in_vain), 3), round(sum(others) / len(others), 3)


def _sum(read: Read, weight: int) -> int:
    return 1000 * read.above + weight * read.log_odds


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
