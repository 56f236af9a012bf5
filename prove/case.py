"""The cases of the settlement proof: every combination for each boundary, then random ones."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from prove.boundaries import NOWHERE, all_of
from prove.interceptor import Boundary, CrashTiming
from prove.ledger_closer import Landing


class Topology(StrEnum):
    """The number of replicas, and when the second one gets the request."""

    ONE = "one, restarted"
    TWO_AT_ONCE = "two at once"
    TWO_AFTER = "two, the second afterwards"
    REPLACED = "two, one replaces the envelope that the other watches"


class CallerBehaviour(StrEnum):
    """The behaviour of a caller whose connection broke."""

    REPEATS = "repeats"
    GIVES_UP = "gives up"


@dataclass(frozen=True, slots=True)
class NodeFault:
    """A fault of the node, in the form of the devnet's API."""

    effect: Mapping[str, object]
    rule: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class CrashCase:
    """One crash and its conditions; `seed` and `number` identify it for a replay."""

    seed: int
    number: int
    boundary: Boundary
    timing: CrashTiming
    landing: Landing
    topology: Topology
    behaviour: CallerBehaviour
    is_landing_first: bool = True  # before the restarted replica is ready
    jitter_ms: int = 0
    fault: NodeFault | None = None
    lag_ms: int = 150  # of every call of the watching replica, for `Topology.REPLACED`
    second_kill: int = 0  # the call at which the second replica is killed; 0: it is not

    def __str__(self) -> str:
        fault = f", {self.fault.effect['kind']}" if self.fault is not None else ""
        again = f", killed again at call {self.second_kill}" if self.second_kill else ""
        return (
            f"SEED={self.seed} CASE={self.number}: {self.timing} {self.boundary}; "
            f"{self.landing}{'' if self.is_landing_first else ' later'}; {self.topology}; "
            f"{self.behaviour}{fault}{again}"
        )


# no crash: the second replica answers for an envelope that the first one replaces
UNDISTURBED: Final = CrashCase(
    0,
    0,
    NOWHERE,
    CrashTiming.AFTER,
    Landing.LANDS,
    Topology.REPLACED,
    CallerBehaviour.GIVES_UP,
)

_RECOVERY_CALLS: Final = 30  # about the number of calls of a recovery
_LAGS_MS: Final = (0, 50, 150, 300)
_SEND: Final = ("sendTransaction",)
_LOOK: Final = ("getTransaction", "getTransactions")
FAULTS: Final = (
    None,
    None,
    NodeFault({"kind": "drop", "when": "after"}, {"methods": _SEND, "count": 1}),
    NodeFault({"kind": "drop", "when": "before"}, {"methods": _SEND, "count": 1}),
    NodeFault({"kind": "http", "status": 503, "when": "after"}, {"methods": _SEND, "count": 1}),
    NodeFault({"kind": "try_again_later"}, {"count": 2}),
    NodeFault({"kind": "http", "status": 503}, {"methods": _LOOK, "count": 3}),
    NodeFault({"kind": "ingestion_delay", "ledgers": 2}, {"count": 8}),
    NodeFault({"kind": "two_nodes", "ledgers": 2}, {"methods": _LOOK, "count": 10}),
)


Boundaries = Mapping[Topology, Sequence[Boundary]]


def cases_of(boundaries: Boundaries, seed: int) -> list[CrashCase]:
    """Plan the cases of a seed: all combinations for the first one, random ones for the others."""
    return sweep(boundaries) if seed == 1 else draw_cases(boundaries, seed)


def sweep(boundaries: Boundaries) -> list[CrashCase]:
    """Plan every boundary, before and after it, with and without landing, with each topology.

    These are the cases of seed 1. The caller repeats its request in every second one.
    """
    combinations = [
        (timing, landing, topology)
        for timing in (CrashTiming.BEFORE, CrashTiming.AFTER)
        for landing in Landing
        for topology in Topology
    ]
    cases: list[CrashCase] = []
    for turn, (timing, landing, topology) in enumerate(combinations):
        for index, boundary in enumerate(boundaries[topology], turn):
            number = len(cases) + 1
            behaviour = list(CallerBehaviour)[index % 2]
            is_first = number % 3 > 0
            cases.append(
                CrashCase(1, number, boundary, timing, landing, topology, behaviour, is_first)
            )
    return [*cases, replace(UNDISTURBED, seed=1, number=len(cases) + 1)]


def short_sweep(boundaries: Boundaries, *, every: int) -> list[CrashCase]:
    """Take every n-th case of the sweep, with its own number."""
    return [case for case in sweep(boundaries) if case.number % every == 1]


def draw_cases(boundaries: Boundaries, seed: int) -> list[CrashCase]:
    """Plan every boundary once with random conditions, and one case without a crash."""
    rng = random.Random(seed)
    known = enumerate(all_of(boundaries), 1)
    cases = [_draw_case(rng, boundaries, boundary, seed, number) for number, boundary in known]
    lag_ms = rng.choice(_LAGS_MS)
    return [*cases, replace(UNDISTURBED, seed=seed, number=len(cases) + 1, lag_ms=lag_ms)]


def _draw_case(
    rng: random.Random, boundaries: Boundaries, boundary: Boundary, seed: int, number: int
) -> CrashCase:
    fault = rng.choice(FAULTS)
    if fault is not None:
        fault = replace(fault, rule={**fault.rule, "seed": rng.randrange(1 << 30)})
    return CrashCase(
        seed=seed,
        number=number,
        boundary=boundary,
        timing=rng.choice(list(CrashTiming)),
        landing=rng.choice(list(Landing)),
        topology=rng.choice(
            [topology for topology in Topology if boundary in boundaries[topology]]
        ),
        behaviour=rng.choice(list(CallerBehaviour)),
        is_landing_first=rng.random() < 0.5,
        jitter_ms=rng.choice((0, 0, 10, 40)),
        fault=fault,
        lag_ms=rng.choice(_LAGS_MS),
        second_kill=rng.choice((0, rng.randint(1, _RECOVERY_CALLS))),
    )
