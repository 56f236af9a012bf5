"""A pair of attackers beside honest neighbours, and a control."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from farebox.local.certificates import Authority
from prove.automation_world import open_automation_world
from prove.fork_server import ForkServer
from prove.neighbours import CHANNELS, draw_cases, figures_of
from prove.neighbours_attackers import Attack
from prove.neighbours_case import NeighboursCase, NeighboursOutcome, run_case
from prove.neighbours_control import CONTROLS, TIMED
from prove.neighbours_ground import Origin
from testing.machine import scratch_folder, subfolder

(LOOKUPS,) = (each for each in CONTROLS if each.name == "lookups")
PAIR = NeighboursCase(0, 1, (Attack.MISSING, Attack.HANGING), Origin.SITE, rounds=1)


@pytest.fixture(scope="module")
async def played(
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, NeighboursOutcome]:
    """The pair beside the service, and the case of a control beside its build."""
    builds = Path(tmp_path_factory.mktemp("builds"))
    sound = TIMED.write(subfolder(builds, "sound"))
    (case,) = LOOKUPS.cases
    with scratch_folder("fbx-test-") as folder:
        authority = Authority(folder)
        async with (
            open_automation_world(
                subfolder(folder, "world"), sources=sound, channels=CHANNELS, workers=1
            ) as world,
            ForkServer(LOOKUPS.build.write(subfolder(builds, "broken"))) as fork_server,
        ):
            broken = replace(world, world=replace(world.world, fork_server=fork_server))
            return {
                "sound": await run_case(world, authority, PAIR),
                "broken": await run_case(broken, authority, case, plays=1),
            }


def test_attackers_refuse_no_honest_neighbour_and_take_no_listing(
    played: Mapping[str, NeighboursOutcome],
) -> None:
    outcome = played["sound"]
    assert outcome.refused == [], str(outcome)
    assert outcome.lost == 0, str(outcome)
    assert outcome.honest > 0
    assert outcome.attacks > 0


def test_control_build_without_shares_of_lookups_is_caught(
    played: Mapping[str, NeighboursOutcome],
) -> None:
    assert LOOKUPS.shows([played["broken"]]), str(played["broken"])


def test_twenty_seeds_play_every_attacker_alone_and_name_their_cases() -> None:
    cases = [case for seed in range(1, 21) for case in draw_cases(seed)]
    assert {case.attacks for case in cases} >= {(each,) for each in Attack}
    assert len({(case.seed, case.number) for case in cases}) == len(cases)


def test_figures_are_those_of_the_worst_case(
    played: Mapping[str, NeighboursOutcome],
) -> None:
    figures = figures_of(list(played.values()))
    assert figures["cases"] == len(played)
    cases = (PAIR, *LOOKUPS.cases)
    attackers = {(attack, case.origin) for case in cases for attack in case.attacks}
    assert figures["attackers"] == len(attackers)
    assert figures["ways"] == len({attack for attack, _ in attackers})
    assert figures["honest_refused"] != 0
