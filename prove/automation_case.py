"""The cases of the proof of automation: a fault at every call, in every way that it can fail."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from farebox.automation.plans.session_spec import AuthorityMode
from prove.automation_plans import FACTORIES
from prove.boundaries import NOWHERE
from prove.interceptor import Boundary
from prove.run_interceptor import SEND, is_poll


class Fate(StrEnum):
    """What becomes of the first envelope of a case on the network."""

    LANDS = "lands"
    NEVER = "never lands, and its time bound passes"
    SLOW = "waits for three seconds, in which no ledger closes"
    FOREIGN = "lands inside a stranger's fee bump"
    STRANGER = "a stranger uses its signed entry first"
    KEPT = "never lands, and a stranger uses its signed entry before the next envelope"
    CLOCK = "the network's clock leaps while it waits"


class FaultKind(StrEnum):
    """How a call fails."""

    KILLED_BEFORE = "killed before"
    KILLED_AFTER = "killed after"
    KILLED_LATE = "killed, the call arrives later"
    CUT_BEFORE = "connection lost before"
    CUT_AFTER = "answer lost"
    ERROR = "error of the database"
    DOWN = "its side is lost to all for two seconds"
    LATE = "seconds late"
    TWICE = "delivered twice"
    STALLED = "held until its lease is lost and another replica has the run"
    TRY_AGAIN = "TRY_AGAIN_LATER"
    NOT_FOUND = "NOT_FOUND, since the node is behind"


KILLS: Final = (FaultKind.KILLED_BEFORE, FaultKind.KILLED_AFTER, FaultKind.KILLED_LATE)
_OF_POLLS: Final = (
    FaultKind.KILLED_AFTER,
    FaultKind.CUT_AFTER,
    FaultKind.STALLED,
    FaultKind.LATE,
    FaultKind.DOWN,
)
_OF_STATEMENTS: Final = (
    FaultKind.KILLED_BEFORE,
    FaultKind.KILLED_AFTER,
    FaultKind.CUT_AFTER,
    FaultKind.STALLED,
    FaultKind.ERROR,
    FaultKind.KILLED_LATE,
    FaultKind.DOWN,
    FaultKind.CUT_BEFORE,
    FaultKind.LATE,
)
_OF_CALLS: Final = (
    FaultKind.KILLED_BEFORE,
    FaultKind.KILLED_AFTER,
    FaultKind.CUT_AFTER,
    FaultKind.STALLED,
    FaultKind.KILLED_LATE,
    FaultKind.TWICE,
    FaultKind.DOWN,
    FaultKind.CUT_BEFORE,
    FaultKind.LATE,
)


@dataclass(frozen=True, slots=True, order=True)
class Scenario:
    """A plan's mode, and the fate of its first envelope."""

    mode: AuthorityMode
    fate: Fate

    def __str__(self) -> str:
        return f"{self.mode}, {self.fate}"


@dataclass(frozen=True, slots=True)
class RunCase:
    """One fault and its conditions; `seed` and `number` identify it for a replay."""

    seed: int
    number: int
    scenario: Scenario
    boundary: Boundary
    fault: FaultKind
    both_claim: bool = False  # from the start; else the second replica does after the fault
    restarts: bool = False  # a replica that was killed
    has_bystander: bool = False  # a second plan, of another owner
    jitter_ms: int = 0
    second_kill: int = 0  # the call at which the other replica is killed as well; 0: it is not

    def __str__(self) -> str:
        more = ", both claim" if self.both_claim else ""
        more += ", with a bystander" if self.has_bystander else ""
        more += f", killed again at call {self.second_kill}" if self.second_kill else ""
        return (
            f"SEED={self.seed} CASE={self.number}: {self.fault} at {self.boundary}; "
            f"{self.scenario}{more}"
        )


Boundaries = Mapping[Scenario, Sequence[Boundary]]
_SHARE: Final = 14  # seeds that together play every boundary of every mode
_QUIET_SHARE: Final = 4  # seeds that together play every scenario without a fault
_RECOVERY_CALLS: Final = 40  # about the number of calls of a recovery


def list_scenarios() -> list[Scenario]:
    """Every mode with every fate that it can have."""
    return [
        Scenario(mode, fate)
        for mode in FACTORIES
        for fate in Fate
        if fate not in (Fate.STRANGER, Fate.KEPT) or mode is not AuthorityMode.OPEN
    ]


def faults_of(boundary: Boundary) -> Sequence[FaultKind]:
    """The ways in which this call can fail."""
    if is_poll(boundary):
        return _OF_POLLS
    if boundary.label.startswith("sql"):
        return _OF_STATEMENTS
    if boundary.label == f"rpc {SEND}":
        return (*_OF_CALLS, FaultKind.TRY_AGAIN)
    if boundary.label.startswith("rpc getTransaction"):
        return (*_OF_CALLS, FaultKind.NOT_FOUND)
    return _OF_CALLS


def draw_cases(boundaries: Boundaries, seed: int) -> list[RunCase]:
    """Plan the cases of a seed: a share of the boundaries of the modes, and some without a fault.

    Fourteen seeds play every boundary of every mode. Where a mode makes a call with several fates,
    and where several modes make it, each of its plays has another fate and another fault.
    """
    rng = random.Random(seed)
    cases = [
        _draw_case(rng, boundaries, mode, boundary, seed, number)
        for number, (mode, boundary) in enumerate(_places(boundaries, seed), 1)
    ]
    quiet = list(boundaries)[seed % _QUIET_SHARE :: _QUIET_SHARE]
    undisturbed = [
        replace(
            UNDISTURBED,
            seed=seed,
            number=number,
            scenario=scenario,
            has_bystander=rng.random() < 0.5,
        )
        for number, scenario in enumerate(quiet, len(cases) + 1)
    ]
    return [*cases, *undisturbed]


def _places(boundaries: Boundaries, seed: int) -> list[tuple[AuthorityMode, Boundary]]:
    """The boundaries of this seed, each with a mode that makes the call."""
    every = {(scenario.mode, each) for scenario, made in boundaries.items() for each in made}
    ordered = sorted(every, key=lambda place: (place[1], place[0]))
    return ordered[(seed - 1) % _SHARE :: _SHARE]


def _draw_case(
    rng: random.Random,
    boundaries: Boundaries,
    mode: AuthorityMode,
    boundary: Boundary,
    seed: int,
    number: int,
) -> RunCase:
    faults = faults_of(boundary)
    scenarios = [each for each in boundaries if each.mode is mode and boundary in boundaries[each]]
    modes = list(FACTORIES)
    turn, round_ = boundary.occurrence + len(boundary.label), (seed - 1) // _SHARE
    is_first = seed == 1
    return RunCase(
        seed=seed,
        number=number,
        scenario=scenarios[(turn + round_) % len(scenarios)],
        boundary=boundary,
        fault=faults[(turn + round_ * len(modes) + modes.index(mode)) % len(faults)],
        both_claim=not is_first and rng.random() < 0.4,
        restarts=rng.random() < 0.4,
        has_bystander=not is_first and rng.random() < 0.4,
        jitter_ms=0 if is_first else rng.choice((0, 0, 10, 40)),
        second_kill=0 if is_first else rng.choice((0, 0, rng.randint(1, _RECOVERY_CALLS))),
    )


UNDISTURBED: Final = RunCase(
    0, 0, Scenario(AuthorityMode.OPEN, Fate.LANDS), NOWHERE, FaultKind.LATE, both_claim=True
)
