"""A few cases of the proof of the catalog, and that the proof can fail."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from prove.catalog import figures_of
from prove.catalog_case import Case, Outcome, play
from prove.catalog_control import together_sources
from prove.catalog_faults import Kind
from prove.lanes import in_lanes
from prove.warm import Warm
from prove.world import World
from support.promises import promise

HUNG = Case(1, Kind.LOCKED)
UNHEARD = Case(1, Kind.CUT_AFTER)
TOGETHER = Case(-1, Kind.FAILS)


@pytest.fixture(scope="module")
async def played(world: World, tmp_path_factory: pytest.TempPathFactory) -> Mapping[Case, Outcome]:
    cases = (TOGETHER, HUNG, UNHEARD)
    async with Warm(together_sources(Path(tmp_path_factory.mktemp("together")))) as together:
        control = replace(world, warm=together)

        async def one(case: Case) -> Outcome:
            return await play(control if case is TOGETHER else world, case)

        outcomes = await in_lanes(cases, one, lanes=len(cases), told="catalog faults")
    return dict(zip(cases, outcomes, strict=True))


@promise("catalog:listed-after-settle", "settle:extension-responses")
@pytest.mark.parametrize("case", [HUNG, UNHEARD], ids=str)
def test_no_settlement_fails_with_the_catalog_and_everything_is_listed_in_the_end(
    played: Mapping[Case, Outcome], case: Case
) -> None:
    outcome = played[case]
    assert outcome.why == []
    assert outcome.counted.confirmed == outcome.counted.listings == len(outcome.asked)


def test_a_build_that_settles_and_lists_in_one_transaction_is_caught(
    played: Mapping[Case, Outcome],
) -> None:
    figures = figures_of([played[TOGETHER]])
    assert figures["settles_failed"] == figures["settles"]
    assert figures["failing"] != []
