"""`make prove PROOF=limits-fair`: limits hold for owners of many keys and harm no other caller.

SEEDS=5 for the whole proof, QUICK=1 for one seed; SEED=n repeats one seed, without controls.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from prove.broken_build import Build, Change
from prove.limits_fair_case import FairOutcome, run_case
from prove.outcome import are_none
from prove.run_cases import Control, are_controls_caught, read_wanted, run_named, tell
from prove.world import World, open_world
from testing.machine import scratch_folder, subfolder
from testing.report import run_and_report

_SEEDS: Final = 5
FAULTS: Final = ("over_limit", "honest_refused", "victims_locked_out")


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    wanted = read_wanted(is_quick, seeds=_SEEDS, named_by="SEED")
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real"), channels=2, payers=2) as world:
            outcomes = [await _run_seed(world, seed) for seed in wanted.played_seeds]
            caught = wanted.is_replay or await are_controls_caught(
                world, folder, CONTROLS, run_case
            )
    figures = figures_of(outcomes)
    wanted.conclude(figures, outcomes, is_caught=caught)
    return holds(figures) and caught, figures


async def _run_seed(world: World, seed: int) -> FairOutcome:
    outcome = await run_named(f"SEED={seed}", run_case(world, seed))
    tell(str(outcome))
    return outcome


def figures_of(outcomes: Sequence[FairOutcome]) -> dict[str, object]:
    """Sum up all outcomes."""
    return {
        "over_limit": sum(each.over.total() for each in outcomes),
        "honest_refused": sum(len(each.refused) for each in outcomes),
        "victims_locked_out": sum(len(each.locked_out) for each in outcomes),
        "seeds": len(outcomes),
        "requests": sum(each.requests for each in outcomes),
        "admitted": sum(each.admitted for each in outcomes),
        "honest": sum(each.honest for each in outcomes),
        "settled": sum(each.settled for each in outcomes),
        "repeated": sum(each.repeated for each in outcomes),
        "failing": [str(each) for each in outcomes if each.is_failed][:5],
    }


def holds(figures: Mapping[str, object]) -> bool:
    """Whether no violation occurred."""
    return are_none(figures, FAULTS)


def _shows(*faults: str) -> Callable[[Sequence[FairOutcome]], bool]:
    """Whether each of these figures counts something."""
    return lambda outcomes: all(figures_of(outcomes)[fault] for fault in faults)


# each lacks one rule of the fair limits
CONTROLS: Final[tuple[Control[int, FairOutcome], ...]] = (
    Control(
        "keys",
        (0,),
        Build(
            changes=(
                Change(
                    "web/guard.py",
                    "    if caller is None or not caller.is_established:\n",
                    "    if caller is None:\n",
                ),
                Change(
                    "accounts/challenge_store.py",
                    '''\
    digest = await db.fetchval(
        f"""
        INSERT INTO challenges''',
                    '''\
    await db.execute(
        f"""
        UPDATE challenges SET expires_at = clock_timestamp() WHERE digest IN (
            SELECT digest FROM challenges WHERE address = $1 AND {_OPEN}
            ORDER BY issued_at DESC OFFSET 49)
        """,
        challenge.address,
    )
    digest = await db.fetchval(
        f"""
        INSERT INTO challenges''',
                ),
            )
        ),
        _shows("over_limit", "victims_locked_out"),
        "it counts every caller by key, and expires the oldest challenges of an account",
    ),
    Control(
        "replicas",
        (0,),
        Build(
            changes=(
                Change(
                    "web/guard.py",
                    "    if caller is None or not caller.is_established:\n",
                    "    if caller is None or caller.kind:\n",
                ),
                Change(
                    "ingress/rate_limiter.py",
                    "        if now >= self._paused_until:\n",
                    "        if now < self._paused_until:\n",
                ),
                Change(
                    "storage/client_quota.py",
                    "    if client is None:\n",
                    "    if client != 0:\n",
                ),
            )
        ),
        _shows("over_limit", "honest_refused"),
        "each replica counts alone and by address, and no quota is enforced",
    ),
)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
