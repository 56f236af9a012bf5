"""Some cases of the proof of the catalog, and its control."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from prove.catalog import figures_of
from prove.catalog_case import Case, Outcome, run_case
from prove.catalog_control import coupled_sources
from prove.catalog_faults import Kind
from prove.concurrency import run_concurrently
from prove.fork_server import ForkServer
from prove.world import World
from support.promises import promise

HUNG = Case(1, Kind.LOCKED)
UNHEARD = Case(1, Kind.CUT_AFTER)
TOGETHER = Case(-1, Kind.FAILS)


@pytest.fixture(scope="module")
async def played(world: World, tmp_path_factory: pytest.TempPathFactory) -> Mapping[Case, Outcome]:
    cases = (TOGETHER, HUNG, UNHEARD)
    async with ForkServer(coupled_sources(Path(tmp_path_factory.mktemp("together")))) as together:
        control = replace(world, fork_server=together)

        async def one(case: Case) -> Outcome:
            return await run_case(control if case is TOGETHER else world, case)

        outcomes = await run_concurrently(cases, one, workers=len(cases), label="catalog faults")
    return dict(zip(cases, outcomes, strict=True))


@promise("catalog:listed-after-settle", "settle:extension-responses")
@pytest.mark.parametrize("case", [HUNG, UNHEARD], ids=str)
def test_catalog_faults_fail_no_settlement_and_lose_no_listing(
    played: Mapping[Case, Outcome], case: Case
) -> None:
    outcome = played[case]
    assert outcome.violations == []
    assert outcome.counted.confirmed == outcome.counted.listings == len(outcome.with_listing)


def test_control_build_with_listing_in_settlement_transaction_is_detected(
    played: Mapping[Case, Outcome],
) -> None:
    figures = figures_of([played[TOGETHER]])
    assert figures["settles_failed"] == figures["settles"]
    assert figures["failing"] != []
