"""`make prove PROOF=automation`: no run happens twice, is lost or is charged wrongly.

SEEDS=20 for the whole proof, QUICK=1 for two minutes; SEED=n CASE=k repeats one case.
"""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from farebox.automation.plans.session_spec import AuthorityMode
from prove.automation_case import (
    Boundaries,
    Fate,
    RunCase,
    Scenario,
    draw_cases,
    list_scenarios,
)
from prove.automation_control import CONTROLS, Control
from prove.automation_run import (
    RunOutcome,
    is_kill,
    record,
    record_idle,
    run_case,
    run_until_reached,
)
from prove.automation_verdict import RunViolation
from prove.automation_world import AutomationWorld, open_automation_world
from prove.boundaries import background_labels, usual_boundaries
from prove.concurrency import run_concurrently
from prove.fork_server import ForkServer
from prove.gateway_controls import are_controls_caught, run_cases
from prove.interceptor import Boundary
from prove.owner_case import OwnerCase, OwnerOutcome, draw_owner_cases, run_owner_case, sizes_of
from prove.owner_control import OwnerControl, broken_sources, timed_sources
from prove.owner_verdict import OwnerViolation
from prove.plan_game_control import are_game_controls_caught
from prove.plan_games import GameOutcome, open_game_table, play_game
from prove.plan_script import Game, draw_games
from prove.world import World
from testing.machine import RunFailed, say, scratch_folder, subfolder
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
    plays = [scenario for scenario in scenarios for _ in range(_RECORDINGS)]
    idle, calls = await asyncio.gather(
        record_idle(world),
        run_concurrently(
            plays, lambda scenario: record(world, scenario), workers=_WORKERS - 1, label="recording"
        ),
    )
    recorded: dict[Scenario, list[list[Boundary]]] = {each: [] for each in scenarios}
    for scenario, made in zip(plays, calls, strict=True):
        recorded[scenario].append(made)
    every = [made for plays_of in recorded.values() for made in plays_of]
    background = background_labels(idle, every)
    return {
        scenario: [
            boundary
            for boundary in usual_boundaries(
                each, background, label=str(scenario), usual=_RECORDINGS - 1
            )
            if boundary.occurrence <= _MOST_LOOKS or not boundary.label.startswith(_LOOKS)
        ]
        for scenario, each in recorded.items()
    }


def all_of(boundaries: Boundaries) -> list[Boundary]:
    """Return the boundaries of all scenarios, once each."""
    return sorted({boundary for each in boundaries.values() for boundary in each})


def plan_cases(boundaries: Boundaries, *, seeds: int, is_quick: bool) -> list[RunCase]:
    """Plan the cases of a run, or the case that SEED and CASE name."""
    number = os.environ.get("CASE")
    if number is not None:
        drawn = draw_cases(boundaries, int(os.environ.get("SEED", "1")))
        return [case for case in drawn if case.number == int(number)]
    if is_quick:
        drawn = [case for seed in _QUICK_SEEDS for case in draw_cases(boundaries, seed)]
        return drawn[:: max(1, len(drawn) // _QUICK_CASES)]
    return [case for seed in range(1, seeds + 1) for case in draw_cases(boundaries, seed)]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    began = time.monotonic()
    seeds = int(os.environ.get("SEEDS", "1" if is_quick else "20"))
    scenarios = _quick_scenarios() if is_quick and "CASE" not in os.environ else list_scenarios()
    is_replay = "CASE" in os.environ
    with scratch_folder("fbx-prove-") as folder:
        sources = timed_sources(subfolder(folder, "timed"))
        async with open_automation_world(
            subfolder(folder, "real"), sources=sources, workers=_WORKERS
        ) as world:
            owner_cases = plan_owner_cases(seeds=seeds, is_quick=is_quick)
            games = plan_games(seeds=seeds, is_quick=is_quick)
            games_played, are_found = await _play_games(world, games, has_controls=not is_replay)
            boundaries: Boundaries = {}
            if not (is_replay and (owner_cases or games)):
                boundaries = await boundaries_of(world, scenarios)
            for boundary in all_of(boundaries):
                say(f"boundary: {boundary}")
            cases = plan_cases(boundaries, seeds=seeds, is_quick=is_quick) if boundaries else []
            if not cases and not owner_cases and not games:
                raise RunFailed("no case has this number")
            played = await run_cases(
                [*owner_cases, *cases], partial(run_either, world), workers=_WORKERS
            )
            outcomes = [each for each in played if isinstance(each, RunOutcome)]
            owners = [each for each in played if isinstance(each, OwnerOutcome)]
            caught = is_replay or (are_found and await _controls_are_caught(world, folder))
    figures = figures_of(outcomes) | {"boundaries": len(all_of(boundaries)), "seeds": seeds}
    figures |= owner_figures_of(owners) | game_figures_of(games_played)
    figures["seconds"] = round(time.monotonic() - began)
    if is_replay:
        told = [line for owner in owners for line in owner.told]
        told += [line for game in games_played for line in game.told]
        for line in (*outcomes, *owners, *games_played, *told):
            say(str(line))
    else:
        figures["control_caught"] = caught
    wrong = (*RunViolation, *OwnerViolation, "games_wrong")
    is_right = not any(figures[violation] for violation in wrong)
    is_modest = all(each.connections_max <= MOST_CONNECTIONS for each in outcomes)
    return is_right and is_modest and caught, figures


def plan_owner_cases(*, seeds: int, is_quick: bool) -> list[OwnerCase]:
    """Plan the owners' cases of a run, or the one that SEED and CASE name, if it is one."""
    number = os.environ.get("CASE")
    if number is not None:
        drawn = draw_owner_cases(int(os.environ.get("SEED", "1")))
        return [case for case in drawn if case.number == int(number)]
    chosen = (_QUICK_OWNERS,) if is_quick else range(1, seeds + 1)
    return [case for seed in chosen for case in draw_owner_cases(seed)]


def plan_games(*, seeds: int, is_quick: bool) -> list[Game]:
    """Plan the games of a run, or the one that SEED and CASE name, if it is one."""
    number = os.environ.get("CASE")
    if number is not None:
        drawn = draw_games(int(os.environ.get("SEED", "1")))
        return [game for game in drawn if game.number == int(number)]
    if is_quick:
        return draw_games(1, count=_QUICK_GAMES)
    return [game for seed in range(1, seeds + 1) for game in draw_games(seed)]


async def _play_games(
    world: AutomationWorld, games: Sequence[Game], *, has_controls: bool
) -> tuple[list[GameOutcome], bool]:
    """Play the games, one after another, and whether they find the controls.

    Controls break the service in this process: nothing else of it works here meanwhile.
    """
    if not games:
        return [], True
    with world.world.server() as server:
        async with open_game_table(server) as table:
            played = await run_cases(games, partial(play_game, table), workers=1)
            return played, not has_controls or await are_game_controls_caught(table)


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
        **{violation.value: size for violation, size in sizes_of(outcomes)},
        "owners_played_again": sum(each.plays - 1 for each in outcomes),
        "owners_failing": [str(each.case) for each in outcomes if each.is_failed][:10],
        "slowest_owner_case_s": round(max((each.took_s for each in outcomes), default=0.0), 1),
    }


def _quick_scenarios() -> list[Scenario]:
    return [
        Scenario(AuthorityMode.OPEN, Fate.LANDS),
        Scenario(AuthorityMode.PRESIGNED, Fate.STRANGER),
        Scenario(AuthorityMode.SESSION, Fate.KEPT),
        Scenario(AuthorityMode.MANDATE, Fate.NEVER),
    ]


def figures_of(outcomes: Sequence[RunOutcome]) -> dict[str, object]:
    """Count the results of a run."""
    found = Counter(each.violation for outcome in outcomes for each in outcome.findings)
    return {
        "cases": len(outcomes),
        "kills": sum(is_kill(each.case) for each in outcomes),
        **{violation.value: found[violation] for violation in RunViolation},
        "runs": sum(len(each.states) for each in outcomes),
        "attempts": sum(each.attempts for each in outcomes),
        "played_again": sum(each.plays - 1 for each in outcomes),
        "not_reached": sum(not each.is_reached for each in outcomes),
        "not_reached_at": Counter(
            each.case.boundary.label for each in outcomes if not each.is_reached
        ).most_common(10),
        "connections_max": max((each.connections_max for each in outcomes), default=0),
        "failing": [str(each.case) for each in outcomes if each.findings][:10],
        "slowest_case_s": round(max((each.took_s for each in outcomes), default=0.0), 1),
    }


async def _controls_are_caught(world: AutomationWorld, folder: Path) -> bool:
    """Whether each broken build is caught, on the network and databases of the sound one."""
    runs = asyncio.gather(*(_is_caught(world, folder, each) for each in CONTROLS))
    of_runs, of_owners = await asyncio.gather(runs, _owners_are_caught(world, folder))
    return all(of_runs) and of_owners


async def _owners_are_caught(world: AutomationWorld, folder: Path) -> bool:
    """Whether each build with one rule of prices less shows its defect."""

    async def run(broken: World, control: OwnerControl) -> tuple[bool, object]:
        outcome = await run_owner_case(replace(world, world=broken), control.case, plays=1)
        return control.shows_in(outcome), outcome

    each = [
        are_controls_caught(world.world, folder, [control], broken_sources, run)
        for control in OwnerControl
    ]
    return all(await asyncio.gather(*each))


async def _is_caught(world: AutomationWorld, folder: Path, control: Control) -> bool:
    """Whether the verdict finds that the build reuses an authorization or doubles a run."""
    async with ForkServer(control.make(subfolder(folder, control.name))) as fork_server:
        broken = replace(world, world=replace(world.world, fork_server=fork_server))
        outcomes = await run_concurrently(
            control.cases,
            partial(run_case, broken),
            workers=len(control.cases),
            label=f"control, {control.name}",
        )
    for outcome in outcomes:
        say(f"control, {control.name}: {outcome}")
    caught = {each.violation for outcome in outcomes for each in outcome.findings}
    return bool(caught & {RunViolation.REUSED, RunViolation.DOUBLED})


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
