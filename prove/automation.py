"""`make prove PROOF=automation`: no run happens twice, is lost or is charged wrongly.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n CASE=k repeats one case.
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from farebox.automation.plans.session_spec import AuthorityMode
from prove.automation_case import (
    KILLS,
    UNDISTURBED,
    Boundaries,
    Fate,
    RunCase,
    Scenario,
    draw_cases,
    list_scenarios,
)
from prove.automation_run import RunOutcome, record, record_idle, run_case, run_until_reached
from prove.automation_verdict import RunViolation
from prove.automation_world import AutomationWorld, open_automation_world
from prove.boundaries import (
    all_of,
    background_labels,
    record_each,
    tell_boundaries,
    usual_boundaries,
)
from prove.broken_build import Build, Change
from prove.interceptor import Boundary
from prove.outcome import are_none, count_unreached, count_violations, name_failing, slowest_s
from prove.owner_case import OwnerCase, OwnerOutcome, draw_owner_cases, run_owner_case
from prove.owner_control import OWNER_CONTROLS
from prove.owner_stage import TIMED
from prove.owner_verdict import OwnerViolation
from prove.plan_game_control import are_game_controls_caught
from prove.plan_games import GameOutcome, open_game_table, play_game
from prove.plan_script import Game, draw_games
from prove.run_cases import (
    Control,
    Wanted,
    are_controls_caught,
    check_any,
    finds,
    read_wanted,
    run_cases,
    run_control,
)
from prove.world import World
from testing.machine import scratch_folder, subfolder
from testing.report import run_and_report

_WORKERS: Final = 6
_RECORDINGS: Final = 3
_LOOKS: Final = ("rpc getTransaction", "rpc getLedgerEntries")
_MOST_LOOKS: Final = 2  # how many there are depends on the ledgers that close meanwhile
_QUICK_CASES: Final = 14
_QUICK_SEEDS: Final = (2, 3)
_QUICK_GAMES: Final = 33
_QUICK_OWNERS: Final = 8  # the seed of a short run: plans that start in eight days
MOST_CONNECTIONS: Final = 20  # of a process, by the default settings


async def boundaries_of(world: AutomationWorld, scenarios: Sequence[Scenario]) -> Boundaries:
    """Record the calls of runs without faults, for each scenario."""
    recording = record_each(
        scenarios, partial(record, world), times=_RECORDINGS, workers=_WORKERS - 1
    )
    idle, recorded = await asyncio.gather(record_idle(world), recording)
    background = background_labels(idle, [made for each in recorded.values() for made in each])
    usual = {
        scenario: usual_boundaries(each, background, label=str(scenario), usual=_RECORDINGS - 1)
        for scenario, each in recorded.items()
    }
    return {scenario: list(filter(_is_counted_on, each)) for scenario, each in usual.items()}


def _is_counted_on(boundary: Boundary) -> bool:
    return boundary.occurrence <= _MOST_LOOKS or not boundary.label.startswith(_LOOKS)


def plan_cases(boundaries: Boundaries, wanted: Wanted) -> list[RunCase]:
    """Plan the cases of a run, or the case that SEED and CASE name."""

    def quick() -> list[RunCase]:
        drawn = [case for seed in _QUICK_SEEDS for case in draw_cases(boundaries, seed)]
        return drawn[:: max(1, len(drawn) // _QUICK_CASES)]

    return wanted.numbered(partial(draw_cases, boundaries), quick=quick) if boundaries else []


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    wanted = read_wanted(is_quick)
    owner_cases = wanted.numbered(draw_owner_cases, quick=lambda: draw_owner_cases(_QUICK_OWNERS))
    games = wanted.numbered(draw_games, quick=lambda: draw_games(1, count=_QUICK_GAMES))
    with scratch_folder("fbx-prove-") as folder:
        sources = TIMED.write(subfolder(folder, "timed"))
        async with open_automation_world(
            subfolder(folder, "real"), sources=sources, workers=_WORKERS
        ) as world:
            games_played, caught = await _play_games(world, games, wanted)
            boundaries: Boundaries = {}
            if not (wanted.is_replay and (owner_cases or games)):
                boundaries = await boundaries_of(world, _scenarios_of(wanted))
            tell_boundaries(all_of(boundaries))
            cases = plan_cases(boundaries, wanted)
            check_any(cases, owner_cases, games)
            every = [*owner_cases, *cases]
            played = await run_cases(every, partial(run_either, world), workers=_WORKERS)
            if caught and not wanted.is_replay:
                caught = await _controls_are_caught(world, folder)
    outcomes = [each for each in played if isinstance(each, RunOutcome)]
    owners = [each for each in played if isinstance(each, OwnerOutcome)]
    figures = figures_of(outcomes)
    figures |= {"boundaries": len(all_of(boundaries)), "seeds": wanted.seeds}
    figures |= owner_figures_of(owners) | game_figures_of(games_played)
    figures["seconds"] = wanted.seconds
    told = [line for owner in owners for line in owner.answers]
    told += [line for game in games_played for line in game.answers]
    wanted.conclude(figures, [*outcomes, *owners, *games_played, *told], is_caught=caught)
    is_right = are_none(figures, (*RunViolation, *OwnerViolation, "games_wrong"))
    is_modest = all(each.connections_max <= MOST_CONNECTIONS for each in outcomes)
    return is_right and is_modest and caught, figures


async def _play_games(
    world: AutomationWorld, games: Sequence[Game], wanted: Wanted
) -> tuple[list[GameOutcome], bool]:
    """Play the games, one after another, and whether they find the controls.

    Controls break the service in this process: nothing else of it works here meanwhile.
    """
    if not games:
        return [], True
    with world.world.server() as server:
        async with open_game_table(server) as table:
            played = await run_cases(games, partial(play_game, table), workers=1)
            return played, wanted.is_replay or await are_game_controls_caught(table)


def game_figures_of(outcomes: Sequence[GameOutcome]) -> dict[str, object]:
    """Count the results of the games."""
    wrong = [str(each) for each in outcomes if each.is_failed]
    return {"games": len(outcomes), "games_wrong": len(wrong), "games_failing": wrong[:10]}


async def run_either(
    world: AutomationWorld, case: RunCase | OwnerCase
) -> RunOutcome | OwnerOutcome:
    """Run a case of either kind."""
    if isinstance(case, RunCase):
        return await run_until_reached(world, case)
    return await run_owner_case(world, case)


def owner_figures_of(outcomes: Sequence[OwnerOutcome]) -> dict[str, object]:
    """Count the results of the owners' cases."""
    return {
        "owner_cases": len(outcomes),
        **count_violations(outcomes, OwnerViolation),
        "owners_played_again": sum(each.plays - 1 for each in outcomes),
        "owners_failing": name_failing(outcomes),
        "slowest_owner_case_s": slowest_s(outcomes),
    }


def _scenarios_of(wanted: Wanted) -> list[Scenario]:
    if wanted.is_replay or not wanted.is_quick:
        return list_scenarios()
    return [
        Scenario(AuthorityMode.OPEN, Fate.LANDS),
        Scenario(AuthorityMode.PRESIGNED, Fate.STRANGER),
        Scenario(AuthorityMode.SESSION, Fate.KEPT),
        Scenario(AuthorityMode.MANDATE, Fate.NEVER),
    ]


def figures_of(outcomes: Sequence[RunOutcome]) -> dict[str, object]:
    """Count the results of a run."""
    return {
        "cases": len(outcomes),
        "kills": sum(each.case.fault in KILLS for each in outcomes),
        **count_violations(outcomes, RunViolation),
        "runs": sum(len(each.states) for each in outcomes),
        "attempts": sum(each.attempts for each in outcomes),
        "played_again": sum(each.plays - 1 for each in outcomes),
        **count_unreached(outcomes),
        "connections_max": max((each.connections_max for each in outcomes), default=0),
        "failing": name_failing(outcomes),
        "slowest_case_s": slowest_s(outcomes),
    }


async def _controls_are_caught(world: AutomationWorld, folder: Path) -> bool:
    """Whether each broken build is caught, on the network and databases of the sound one."""
    each = [_is_caught(world, folder, control) for control in CONTROLS]
    own = [_is_found_by_owners(world, folder, control) for control in OWNER_CONTROLS]
    return all(await asyncio.gather(*each, *own))


async def _is_found_by_owners(
    world: AutomationWorld, folder: Path, control: Control[OwnerCase, OwnerOutcome]
) -> bool:
    """Whether the build with one rule of prices less shows its defect."""

    async def run(broken: World, case: OwnerCase) -> OwnerOutcome:
        return await run_owner_case(replace(world, world=broken), case, plays=1)

    return await are_controls_caught(world.world, folder, [control], run)


async def _is_caught(
    world: AutomationWorld, folder: Path, control: Control[RunCase, RunOutcome]
) -> bool:
    """Whether the verdict finds that the build reuses an authorization or doubles a run."""

    async def run(broken: World, case: RunCase) -> RunOutcome:
        return await run_case(replace(world, world=broken), case)

    label = f"control, {control.name}"
    return control.shows(await run_control(world.world, folder, control, run, label=label))


# The hasty build breaks the patience: it looks for an envelope for a third of a second, takes it
# for dead and makes another, although the first one can still land. The fresh one breaks the
# derivation: each attempt of a session's run signs a nonce of its own, so that the ledger takes
# the authorization of a dead envelope and that of the next attempt.
_SENDER: Final = "automation/execution/send_run.py"
_PATIENT: Final = "until = self._clock.monotonic() + max(0.0, left_s) + _PROOF_S"
_HASTY: Final = "until = self._clock.monotonic() + 0.3"
_RESOLVER: Final = "automation/execution/resolve_run.py"
_OPEN: Final = """            case Indeterminate():
                return run
"""
_GUESSED: Final = """            case Indeterminate():
                ended = EndedAttempt(attempt, AttemptOutcome.DEAD, "too_late")
                run = run.without_channel()
                return await self._failures.fail(run, ErrorClass.TOO_LATE, "too_late", ended=ended)
"""
_AUTHORITY: Final = "automation/sessions/session_authority.py"
_DERIVED: Final = "from farebox.automation.runs.attempt import CounterReading, derive_nonce\n"
_FRESH: Final = """import secrets
from farebox.automation.runs.attempt import CounterReading


def derive_nonce(key, policy_id, *, run_index, leg_index):
    return secrets.randbits(63)


"""


def _cases(mode: AuthorityMode, *fates: Fate) -> list[RunCase]:
    return [
        replace(UNDISTURBED, seed=-1, number=number, scenario=Scenario(mode, fate))
        for number, fate in enumerate(fates, 1)
    ]


CONTROLS: Final[tuple[Control[RunCase, RunOutcome], ...]] = (
    Control(
        "hasty",
        _cases(AuthorityMode.OPEN, Fate.SLOW, Fate.CLOCK),
        Build(changes=(Change(_SENDER, _PATIENT, _HASTY), Change(_RESOLVER, _OPEN, _GUESSED))),
        finds(RunViolation.REUSED, RunViolation.DOUBLED),
    ),
    Control(
        "fresh",
        _cases(AuthorityMode.SESSION, Fate.KEPT, Fate.NEVER),
        Build(changes=(Change(_AUTHORITY, _DERIVED, _FRESH),)),
        finds(RunViolation.REUSED, RunViolation.DOUBLED),
    ),
)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
