"""The quality of the search against its recorded figures."""

from collections.abc import AsyncIterator, Mapping, Sequence

import pytest

from eval.engines import ALL, WITHOUT_MODEL, encoder, engines_of, read_texts
from eval.gate import fallen, locked_ndcg10
from eval.ground import list_all, opened_database
from eval.labelled import Half, Kind, Query, read_labelled
from eval.scores import Answer

STAGES = (WITHOUT_MODEL, ALL)


def counted(queries: Sequence[Query]) -> list[Query]:
    """The queries that the recorded figure is of, and one that nothing fits, which a score needs.

    What is compared is their order: riddles and silence count in no figure.
    """
    locked = [each for each in queries if each.half is Half.LOCKED]
    vain = [each for each in locked if each.kind is Kind.NONE]
    return [each for each in locked if each.kind not in (Kind.NONE, Kind.OBLIQUE)] + vain[:1]


@pytest.fixture(scope="module")
async def answers() -> AsyncIterator[Mapping[str, list[Answer]]]:
    labelled = read_labelled()
    asked = counted(labelled.queries)
    async with opened_database() as database, encoder() as model:
        ids = await list_all(database, labelled.listings)
        await read_texts(database, model)
        engines = await engines_of(database, model, stages=STAGES)
        yield {name: await engine.ask_all(asked, ids) for name, engine in engines.items()}


@pytest.mark.parametrize("stage", STAGES)
def test_search_quality_matches_recorded_figures(
    answers: Mapping[str, list[Answer]], stage: str
) -> None:
    assert fallen(stage, locked_ndcg10(answers[stage])) is None


@pytest.mark.parametrize("stage", STAGES)
def test_control_reversed_ranking_is_detected(
    answers: Mapping[str, list[Answer]], stage: str
) -> None:
    turned = [Answer(each.query, each.found[::-1]) for each in answers[stage]]
    assert fallen(stage, locked_ndcg10(turned)) is not None
