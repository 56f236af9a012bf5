"""`make prove PROOF=limits`: the limits of a wrapper hold exactly, on two replicas and after kills.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n CASE=k repeats one case.
"""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

from farebox.local.certificates import Authority
from prove.broken_build import End
from prove.delivery_control import TIMED, UNJUDGED
from prove.limits_case import LimitsCase, LimitsOutcome, draw_cases, run_case
from prove.outcome import name_failing
from prove.run_cases import (
    Control,
    Wanted,
    are_controls_caught,
    check_any,
    read_wanted,
    run_cases,
)
from prove.world import World, open_world
from testing.machine import scratch_folder, subfolder
from testing.report import run_and_report

_WORKERS: Final = 4
_CASES: Final = 8  # of a seed


def plan_cases(wanted: Wanted) -> list[LimitsCase]:
    """Plan the cases of a run, or the one case that SEED and CASE name."""
    count = _CASES // 2 if wanted.is_quick and not wanted.is_replay else _CASES
    return wanted.numbered(lambda seed: draw_cases(seed, count))


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    wanted = read_wanted(is_quick)
    cases = plan_cases(wanted)
    check_any(cases)
    with scratch_folder("fbx-prove-") as folder:
        authority = Authority(folder)
        sources = TIMED.write(subfolder(folder, "timed"))
        async with open_world(
            subfolder(folder, "real"), sources=sources, workers=_WORKERS
        ) as world:

            async def run(world: World, case: LimitsCase) -> LimitsOutcome:
                return await run_case(world, authority, case)

            outcomes = await run_cases(cases, partial(run, world), workers=_WORKERS)
            caught = wanted.is_replay or await are_controls_caught(world, folder, CONTROLS, run)
    figures = figures_of(outcomes) | {"seeds": wanted.seeds}
    wanted.conclude(figures, outcomes, is_caught=caught)
    figures["seconds"] = wanted.seconds
    return not any(each.is_failed for each in outcomes) and caught, figures


def figures_of(outcomes: Sequence[LimitsOutcome]) -> dict[str, object]:
    """Count the results of a run."""
    return {
        "cases": len(outcomes),
        "landed": sum(each.landed for each in outcomes),
        "landed_beyond": sum(each.landed_beyond for each in outcomes),
        "counters_off": sum(bool(each.counters_off) for each in outcomes),
        "refused_429": sum(each.answers.get(429, 0) for each in outcomes),
        "failing": name_failing(outcomes),
    }


_UNLIMITED: Final = """

_RESERVE = (
    _RESERVE.replace("c.minute_count < $6", "$6 > 0")
    .replace("c.month_count < $7", "$7 > 0")
    .replace("c.in_progress < $8", "$8 > 0")
)
"""
_UNCOUNTED: Final = """


async def release(db, held):
    await db.execute(
        f"DELETE FROM gateway_payments WHERE {KEY} AND state = 'reserved' AND attempts = $4",
        *held.identity.row_key,
        held.attempts,
    )
    return True
"""


def _is_beyond(outcomes: Sequence[LimitsOutcome]) -> bool:
    return any(each.landed_beyond for each in outcomes)


def _is_off(outcomes: Sequence[LimitsOutcome]) -> bool:
    return any(each.counters_off for each in outcomes)


_CASE: Final = LimitsCase(0, 2, 3, 3, 3, killed_at=None, refused=6)
_STORE: Final = "gateway/delivery/reservation_store.py"
_RESERVE: Final = "async def reserve("
CONTROLS: Final[tuple[Control[LimitsCase, LimitsOutcome], ...]] = (
    Control(
        "unlimited",
        (_CASE,),
        TIMED.with_ends(End(_STORE, _RESERVE, _UNLIMITED)),
        _is_beyond,
        "it counts and refuses nothing",
    ),
    Control(
        "uncounted",
        (_CASE,),
        TIMED.with_ends(
            End(_STORE, _RESERVE, _UNCOUNTED),
            # a refused payment that is judged first reserves nothing
            End("gateway/delivery/pay.py", "class Payer:", UNJUDGED),
        ),
        _is_off,
        "a released reservation stays counted",
    ),
)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
