"""The quality of the search against its recorded figures."""

from collections.abc import AsyncIterator, Mapping

import pytest

from eval.engines import ALL, WITHOUT_MODEL, encoder, engines_of, read_texts
from eval.gate import fallen, locked_ndcg10
from eval.ground import list_all, opened_database
from eval.labelled import Half, read_labelled
from eval.scores import Answer

STAGES = (WITHOUT_MODEL, ALL)


@pytest.fixture(scope="module")
async def answers() -> AsyncIterator[Mapping[str, list[Answer]]]:
    labelled = read_labelled()
    asked = [query for query in labelled.queries if query.half is Half.LOCKED]
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
