"""`make prove PROOF=catalog`: no settlement fails because of a fault in the catalog.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n KIND=locked repeats one case.
"""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

from prove.broken_build import Build, Change
from prove.catalog_case import CatalogCase, CatalogOutcome, SettleResponse, run_case
from prove.catalog_faults import CatalogKind
from prove.outcome import are_none
from prove.run_cases import Control, Wanted, are_controls_caught, read_wanted, run_cases
from prove.world import open_world
from testing.machine import scratch_folder, subfolder
from testing.report import run_and_report

_WORKERS: Final = 3


def plan_cases(wanted: Wanted) -> list[CatalogCase]:
    """Plan every kind under every seed, or the one case that SEED and KIND name."""
    kinds = wanted.of_kinds(CatalogKind)
    return [CatalogCase(seed, each) for seed in wanted.played_seeds for each in kinds]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    wanted = read_wanted(is_quick, named_by="KIND")
    cases = plan_cases(wanted)
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real"), workers=_WORKERS) as world:
            outcomes = await run_cases(cases, partial(run_case, world), workers=_WORKERS)
            caught = wanted.is_replay or await are_controls_caught(
                world, folder, [CONTROL], run_case
            )
    figures = figures_of(outcomes) | {"seeds": wanted.seeds}
    wanted.conclude(figures, outcomes, is_caught=caught)
    holds = are_none(figures, ("settles_failed", "late", "unexplained", "failing"))
    return holds and caught, figures


def figures_of(outcomes: Sequence[CatalogOutcome]) -> dict[str, object]:
    """Count the results of a run."""
    responses = [each for outcome in outcomes for each in outcome.responses]
    with_listing = [each for outcome in outcomes for each in outcome.with_listing]
    normal = _times([each for outcome in outcomes for each in outcome.without_listing])
    with_fault = [each for each in outcomes if each.case.kind is not CatalogKind.NONE]
    under_faults = _times([each for outcome in with_fault for each in outcome.with_listing])
    return {
        "cases": len(outcomes),
        "settles": len(responses),
        "settles_failed": sum(not each.is_success for each in responses),
        "late": sum(len(outcome.late) for outcome in outcomes),
        "unexplained": sum(not each.reports_listing for each in with_listing),
        "listed_at_once": sum(each.is_listed for each in with_listing),
        "final_successes": sum(outcome.counted.confirmed for outcome in outcomes),
        "listings": sum(outcome.counted.listings for outcome in outcomes),
        "purchases_counted": sum(outcome.counted.purchases for outcome in outcomes),
        "normal_p50_ms": _median_ms(normal),
        "normal_max_ms": round(normal[-1] * 1000) if normal else 0,
        "faulty_p50_ms": _median_ms(under_faults),
        "faulty_max_ms": round(under_faults[-1] * 1000) if under_faults else 0,
        "slowest_listing_s": round(max(each.listed_after_s for each in outcomes), 1),
        "failing": [str(each.case) for each in outcomes if each.violations][:10],
    }


def _times(responses: Sequence[SettleResponse]) -> list[float]:
    return sorted(each.took_s for each in responses)


def _median_ms(times: Sequence[float]) -> int:
    return round(times[len(times) // 2] * 1000) if times else 0


_JOURNAL: Final = "facilitator/journal/journal.py"
_APART: Final = """\
        async with self._database.connection() as db:
            return await store.take_successes(db, attempts, at=self._clock.now())
"""
_COUPLED: Final = """\
        async with self._database.transaction() as db:
            await db.execute("UPDATE listings SET updated_at = updated_at WHERE false")
            await db.execute("UPDATE listing_terms SET amount = amount WHERE false")
            await db.execute("UPDATE listing_payers SET settlements = settlements WHERE false")
            await db.execute("UPDATE listing_decisions SET outcome = outcome WHERE false")
            return await store.take_successes(db, attempts, at=self._clock.now())
"""


def _are_all_refused(outcomes: Sequence[CatalogOutcome]) -> bool:
    return not any(each.is_success for outcome in outcomes for each in outcome.responses)


# it settles and lists in one transaction: taking a success also writes to the catalog
CONTROL: Final = Control(
    "control",
    [CatalogCase(0, kind) for kind in (CatalogKind.FAILS, CatalogKind.LOCKED)],
    Build(changes=(Change(_JOURNAL, _APART, _COUPLED),)),
    _are_all_refused,
)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
