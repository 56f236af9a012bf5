"""`make prove PROOF=auth`: sessions and keys are issued once, and ended ones are refused.

SEEDS=20 for the whole proof, QUICK=1 for a minute; SEED=n KIND=rotate repeats one case.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from prove.auth_case import AuthKind, AuthOutcome, run_case
from prove.broken_build import Build, Change
from prove.outcome import are_none, name_failing
from prove.run_cases import (
    Control,
    open_broken,
    read_wanted,
    run_concurrently,
    run_named,
    tell,
)
from prove.world import World, open_world
from testing.machine import say, scratch_folder, subfolder
from testing.report import run_and_report

_WORKERS: Final = 2
_FAULTS: Final = ("extra_sessions", "extra_keys", "late_accepts")


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    wanted = read_wanted(is_quick, quick_seeds=2, named_by="KIND")
    seeds, kinds = wanted.played_seeds, wanted.of_kinds(AuthKind)
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real"), channels=1, payers=1) as world:
            by_seed = await run_concurrently(
                seeds, lambda seed: _run_seed(world, seed, kinds), workers=_WORKERS, label="seeds"
            )
            caught = wanted.is_replay or await _control_is_caught(world, folder)
    outcomes = [outcome for each in by_seed for outcome in each]
    figures = figures_of(outcomes) | {"seeds": len(seeds)}
    wanted.conclude(figures, outcomes, is_caught=caught)
    return holds(figures) and caught, figures


async def _run_seed(world: World, seed: int, kinds: Sequence[AuthKind]) -> list[AuthOutcome]:
    outcomes = await run_named(f"SEED={seed}", run_case(world, seed, kinds))
    for outcome in outcomes:
        if outcome.is_failed:
            tell(f"FAILED {outcome}")
    return outcomes


def figures_of(outcomes: Sequence[AuthOutcome]) -> dict[str, object]:
    """Count the results of a run."""
    return {
        "cases": len(outcomes),
        "requests": sum(each.requests for each in outcomes),
        "sessions": sum(each.sessions for each in outcomes),
        "keys": sum(each.keys for each in outcomes),
        "used": sum(each.used for each in outcomes),
        "extra_sessions": sum(each.extra_sessions for each in outcomes),
        "extra_keys": sum(each.extra_keys for each in outcomes),
        "late_accepts": sum(each.late_accepts for each in outcomes),
        "unavailable": sum(each.unavailable for each in outcomes),
        "unexplained": sum(len(each.unexpected) for each in outcomes),
        "failing": name_failing(outcomes),
    }


def holds(figures: Mapping[str, object]) -> bool:
    """Whether no violation occurred."""
    return are_none(figures, (*_FAULTS, "unexplained"))


_BREAKS: Final = (
    Change(
        "accounts/authenticate.py",
        """\
        async with self._database.connection() as db:
            stored = await find(db, credential.digest)
""",
        """\
        stored = _REMEMBERED.get(credential.digest)
        if stored is None:
            async with self._database.connection() as db:
                stored = await find(db, credential.digest)
            if stored is not None:
                _REMEMBERED[credential.digest] = stored
""",
    ),
    Change(
        "accounts/authenticate.py",
        "\n\nclass UsageRecorder",
        "\n\n_REMEMBERED = {}\n\nclass UsageRecorder",
    ),
    Change(
        "accounts/key_store.py",
        "        WHERE id = $2 AND owner = $1 AND revoked_at IS NULL AND {_LIVE}\n",
        "        WHERE id = $2 AND owner = $1\n",
    ),
    Change(
        "accounts/challenge_store.py",
        """\
          AND consumed_at IS NULL AND expires_at > clock_timestamp()
        RETURNING consumed_at
""",
        """\
          AND expires_at > clock_timestamp()
        RETURNING consumed_at
""",
    ),
)


def _shows_all(outcomes: Sequence[AuthOutcome]) -> bool:
    figures = figures_of(outcomes)
    return all(figures[fault] for fault in _FAULTS)


# nothing is consumed, and credentials are cached; one seed plays all kinds
CONTROL: Final = Control("control", (0,), Build(changes=_BREAKS), _shows_all)


async def _control_is_caught(world: World, folder: Path) -> bool:
    """Whether a build that issues twice and caches too long shows every fault."""
    async with open_broken(world, folder, CONTROL) as broken:
        outcomes = [each for seed in CONTROL.cases for each in await run_case(broken, seed)]
    for outcome in outcomes:
        say(f"{CONTROL}: {outcome}")
    return CONTROL.shows(outcomes)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
