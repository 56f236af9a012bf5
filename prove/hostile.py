"""`make prove PROOF=hostile`: hostile clients do not keep others from paying.

SEEDS=5 for the whole proof, QUICK=1 for a minute and a half; SEED=n repeats one seed.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Final

from prove.broken_build import Build, End
from prove.hostile_case import HostileCase, HostileOutcome, run_case
from prove.hostile_kinds import Hostility
from prove.run_cases import Control, Wanted, are_controls_caught, read_wanted
from prove.world import open_world
from testing.machine import say, scratch_folder, subfolder
from testing.report import run_and_report

MEMORY_GROWTH_MB: Final = 100
HEALTH_P95_MS: Final = 200
OPEN_AFTER_S: Final = 30
LOOP_STALL_MS: Final = 50
_SEEDS: Final = 5
_MOST: Final = {  # of each figure
    "honest_failed": 0,
    "health_failed": 0,
    "left_open": 0,
    "memory_growth_mb": MEMORY_GROWTH_MB,
    "health_p95_ms": HEALTH_P95_MS,
    "open_after_s": OPEN_AFTER_S,
    "loop_stall_ms_max": LOOP_STALL_MS,
}


def plan_cases(wanted: Wanted) -> list[HostileCase]:
    """Plan one case for each seed."""
    connections, seconds, judged = (400, 5.0, 28) if wanted.is_quick else (2_000, 20.0, 140)
    return [HostileCase(seed, connections, seconds, judged) for seed in wanted.played_seeds]


async def prove(is_quick: bool) -> tuple[bool, dict[str, object]]:
    """Run the proof; return whether it holds, and its figures."""
    wanted = read_wanted(is_quick, seeds=_SEEDS, named_by="SEED")
    outcomes = []
    with scratch_folder("fbx-prove-") as folder:
        async with open_world(subfolder(folder, "real")) as world:
            for case in plan_cases(wanted):
                outcomes.append(await run_case(world, case))
                say(str(outcomes[-1]))
            caught = wanted.is_replay or await are_controls_caught(
                world, folder, [CONTROL], run_case
            )
    figures = figures_of(outcomes)
    wanted.conclude(figures, (), is_caught=caught)
    return holds(figures) and caught, figures


def figures_of(outcomes: Sequence[HostileOutcome]) -> dict[str, object]:
    """Return the worst figures of all outcomes, and the totals."""
    return {
        "honest_failed": sum(len(each.honest_failed) for each in outcomes),
        "health_failed": sum(each.health_failed for each in outcomes),
        "memory_growth_mb": max(each.memory_growth_mb for each in outcomes),
        "health_p95_ms": max(each.health_p95_ms for each in outcomes),
        "health_p95_raw_ms": max(each.health_p95_raw_ms for each in outcomes),
        "open_after_s": max(each.open_after_s for each in outcomes),
        "left_open": sum(each.left_open for each in outcomes),
        "loop_stall_ms_max": max(each.loop_stall_ms for each in outcomes),
        "attack_stall_ms_max": max(each.attack_stall_ms for each in outcomes),
        "honest": sum(each.honest for each in outcomes),
        "judged": sum(each.judged for each in outcomes),
        "connections": sum(each.report.opened for each in outcomes),
        "seeds": len(outcomes),
    }


def holds(figures: Mapping[str, object]) -> bool:
    """Whether every figure is within its bound."""
    return all(float(str(figures[key])) <= most for key, most in _MOST.items())


# uvicorn's protocol without limits, and patterns of any size compiled on the event loop
_PROTOCOL: Final = """
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class UnboundedHttpProtocol(HttpToolsProtocol):
    open = None
    hosts = None

    def connection_made(self, transport):
        super().connection_made(HeadBuffer(transport, self.loop, lambda: False))


BoundedHttpProtocol = UnboundedHttpProtocol
"""
_QUESTION: Final = """

_read_within_bounds = read_submission


def read_submission(body):
    import jsonschema_rs

    def compiled(value):
        if isinstance(value, dict):
            if isinstance(value.get("pattern"), str):
                try:
                    jsonschema_rs.Draft202012Validator({"pattern": value["pattern"]})
                except ValueError:
                    pass
            for each in value.values():
                compiled(each)

    compiled(msgspec.json.decode(body))
    return _read_within_bounds(body)
"""


def _is_overwhelmed(outcomes: Sequence[HostileOutcome]) -> bool:
    """Whether its memory grows and its loop is held up."""
    return all(
        each.memory_growth_mb > MEMORY_GROWTH_MB and each.loop_stall_ms > LOOP_STALL_MS
        for each in outcomes
    )


# it has no limits on requests
CONTROL: Final = Control(
    "control",
    (
        HostileCase(
            0,
            connections=24,
            seconds=12.0,
            judged=1,
            kinds=(Hostility.FIELDS, Hostility.DEAF),
            stops_at_mb=300,
        ),
    ),
    Build(
        (
            End("web/http_protocol.py", "class BoundedHttpProtocol(", _PROTOCOL),
            End("catalog/validate_http.py", "def read_submission(", _QUESTION),
        )
    ),
    _is_overwhelmed,
)


if __name__ == "__main__":
    sys.exit(run_and_report(prove))
