"""`make eval EVAL=search`: how well the search finds what fits, and how quiet it is otherwise."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from eval.engines import (
    ALL,
    MEANING,
    RELAXED,
    STRICT,
    WITHOUT_MODEL,
    encoder,
    engines_of,
    read_texts,
)
from eval.gate import keep, locked_ndcg10
from eval.ground import list_all, opened_database
from eval.labelled import DATA, FOREIGN, Half, Kind, Labelled, read_labelled
from eval.plot import draw_stages
from eval.scores import Answer, Scores, by_kind, misses, of_half, score
from testing.machine import say
from testing.report import run_and_report

_STAGES: Final = (STRICT, RELAXED, WITHOUT_MODEL, MEANING, ALL)
_QUICK: Final = (WITHOUT_MODEL, ALL)
LEAST_NDCG10: Final = 0.85
LEAST_SILENCE: Final = 0.9
LEAST_ANSWERED: Final = 0.95


async def answers_of(labelled: Labelled, stages: tuple[str, ...]) -> Mapping[str, list[Answer]]:
    """What each engine finds for every query, the listings listed the way of the service.

    Raises:
        RunFailed: a listing is refused, or the language model is needed and not there.
    """
    async with opened_database() as database, encoder() as model:
        ids = await list_all(database, labelled.listings)
        await read_texts(database, model)
        engines = await engines_of(database, model, stages=stages)
        found = {}
        for name, engine in engines.items():
            began = time.monotonic()
            found[name] = await engine.ask_all(labelled.queries, ids)
            took_ms = 1000 * (time.monotonic() - began) / len(labelled.queries)
            say(f"{name}: {len(labelled.queries)} queries, {took_ms:.1f} ms each")
    return found


async def run(quick: bool) -> tuple[bool, dict[str, object]]:
    """Whether the locked half is answered as well as is promised, and the figures."""
    began = time.monotonic()
    is_foreign = os.environ.get("SET") == "foreign"
    labelled = read_labelled(FOREIGN if is_foreign else DATA)
    found = await answers_of(labelled, _QUICK if quick else _STAGES)
    halves = {
        name: {half: score(of_half(answers, half)) for half in Half}
        for name, answers in found.items()
    }
    _tell_misses(found[ALL])
    if plot := os.environ.get("PLOT"):
        locked = {name: scores[Half.LOCKED].ndcg10 for name, scores in halves.items()}
        draw_stages(Path(plot), locked)
    figures = _figures(labelled, found, halves)
    figures["seconds"] = round(time.monotonic() - began, 1)
    if os.environ.get("KEEP") == "1" and not is_foreign:
        keep({name: locked_ndcg10(answers) for name, answers in found.items()})
    return _holds(halves[ALL][Half.LOCKED]), figures


def _holds(locked: Scores) -> bool:
    return (
        locked.ndcg10.mean >= LEAST_NDCG10
        and locked.silence.mean >= LEAST_SILENCE
        and locked.answered.mean >= LEAST_ANSWERED
    )


def _figures(
    labelled: Labelled,
    found: Mapping[str, list[Answer]],
    halves: Mapping[str, Mapping[Half, Scores]],
) -> dict[str, object]:
    everything = halves[ALL]
    return {
        "listings": len(labelled.listings),
        "queries": len(labelled.queries),
        "ndcg10_locked": round(everything[Half.LOCKED].ndcg10.mean, 3),
        "ndcg10_tuning": round(everything[Half.TUNING].ndcg10.mean, 3),
        "silence": round(everything[Half.LOCKED].silence.mean, 3),
        "answered": round(everything[Half.LOCKED].answered.mean, 3),
        "oblique_ndcg10": by_kind(found[ALL]).get(Kind.OBLIQUE),
        "kinds_locked": by_kind(of_half(found[ALL], Half.LOCKED)),
        "stages": {
            name: {half.value: scores[half].rounded() for half in Half}
            for name, scores in halves.items()
        },
    }


def _tell_misses(answers: list[Answer]) -> None:
    """With VERBOSE=1, every bad answer of the half that may be looked at while tuning."""
    if os.environ.get("VERBOSE") == "1":
        for line in misses(of_half(answers, Half.TUNING)):
            say(line)


if __name__ == "__main__":
    raise SystemExit(run_and_report(run))
