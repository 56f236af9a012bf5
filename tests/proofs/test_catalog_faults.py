"""Some cases of the proof of the catalog, and its control."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from prove.catalog import CONTROL, figures_of
from prove.catalog_case import CatalogCase, CatalogOutcome, run_case
from prove.catalog_faults import CatalogKind
from prove.fork_server import ForkServer
from prove.run_cases import run_concurrently
from prove.world import World
from support.promises import promise

HUNG = CatalogCase(1, CatalogKind.LOCKED)
UNHEARD = CatalogCase(1, CatalogKind.CUT_AFTER)
TOGETHER = CatalogCase(-1, CatalogKind.FAILS)


@pytest.fixture(scope="module")
async def played(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[CatalogCase, CatalogOutcome]:
    cases = (TOGETHER, HUNG, UNHEARD)
    sources = CONTROL.build.write(Path(tmp_path_factory.mktemp("together")))
    async with ForkServer(sources) as together:
        control = replace(world, fork_server=together)

        async def one(case: CatalogCase) -> CatalogOutcome:
            return await run_case(control if case is TOGETHER else world, case)

        outcomes = await run_concurrently(cases, one, workers=len(cases), label="catalog faults")
    return dict(zip(cases, outcomes, strict=True))


@promise("catalog:listed-after-settle", "settle:extension-responses")
@pytest.mark.parametrize("case", [HUNG, UNHEARD], ids=str)
def test_catalog_faults_fail_no_settlement_and_lose_no_listing(
    played: Mapping[CatalogCase, CatalogOutcome], case: CatalogCase
) -> None:
    outcome = played[case]
    assert outcome.violations == []
    assert outcome.counted.confirmed == outcome.counted.listings == len(outcome.with_listing)


def test_control_build_with_listing_in_settlement_transaction_is_detected(
    played: Mapping[CatalogCase, CatalogOutcome],
) -> None:
    figures = figures_of([played[TOGETHER]])
    assert figures["settles_failed"] == figures["settles"]
    assert figures["failing"] != []
