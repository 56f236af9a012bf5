"""The cases of the proof: every boundary once in every way, then again and again by the dice."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from prove.gate import Boundary, Side
from prove.ledgers import Landing


class Crew(StrEnum):
    """How many replicas there are, and when the second one gets the body."""

    ONE = "one, restarted"
    TWO_AT_ONCE = "two at once"
    TWO_AFTER = "two, the second afterwards"


class Asking(StrEnum):
    """What the caller does whose answer was cut off."""

    REPEATS = "repeats"
    GIVES_UP = "gives up"


@dataclass(frozen=True, slots=True)
class NodeFault:
    """A fault of the node, as the devnet takes it."""

    effect: Mapping[str, object]
    rule: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Case:
    """One kill: where, and what surrounds it. `seed` and `number` name it for a replay."""

    seed: int
    number: int
    boundary: Boundary
    side: Side
    landing: Landing
    crew: Crew
    asking: Asking
    is_landing_first: bool = True  # before a replica is there again
    jitter_ms: int = 0
    fault: NodeFault | None = None
    second_kill: int = 0  # at which call the replica dies that takes over; 0 = it lives

    def __str__(self) -> str:
        fault = f", {self.fault.effect['kind']}" if self.fault is not None else ""
        again = f", killed again at call {self.second_kill}" if self.second_kill else ""
        return (
            f"SEED={self.seed} CASE={self.number}: {self.side} {self.boundary}; "
            f"{self.landing}{'' if self.is_landing_first else ' later'}; {self.crew}; "
            f"{self.asking}{fault}{again}"
        )


_RECOVERY_CALLS: Final = 30  # about as many as it takes to find out and to write it down
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


Boundaries = Mapping[Crew, Sequence[Boundary]]


def sweep(boundaries: Boundaries) -> list[Case]:
    """Every boundary, on both sides, with and without landing, with each crew: seed 1.

    The caller asks again in every second case, and each boundary has cases of both kinds.
    """
    ways = [
        (side, landing, crew)
        for side in (Side.BEFORE, Side.AFTER)
        for landing in Landing
        for crew in Crew
    ]
    cases: list[Case] = []
    for turn, (side, landing, crew) in enumerate(ways):
        for place, boundary in enumerate(boundaries[crew], turn):
            number = len(cases) + 1
            asking = list(Asking)[place % 2]
            is_first = number % 3 > 0
            cases.append(Case(1, number, boundary, side, landing, crew, asking, is_first))
    return cases


def short_sweep(boundaries: Boundaries, *, every: int) -> list[Case]:
    """One case in so many of the sweep, no two neighbours alike, under their own numbers."""
    return [case for case in sweep(boundaries) if case.number % every == 1]


def thrown(boundaries: Boundaries, seed: int) -> list[Case]:
    """Every boundary once, everything else by the dice of the seed."""
    dice = random.Random(seed)
    known = sorted({boundary for each in boundaries.values() for boundary in each})
    return [_throw(dice, boundaries, boundary, seed, n) for n, boundary in enumerate(known, 1)]


def _throw(
    dice: random.Random, boundaries: Boundaries, boundary: Boundary, seed: int, number: int
) -> Case:
    fault = dice.choice(FAULTS)
    if fault is not None:
        fault = replace(fault, rule={**fault.rule, "seed": dice.randrange(1 << 30)})
    return Case(
        seed=seed,
        number=number,
        boundary=boundary,
        side=dice.choice(list(Side)),
        landing=dice.choice(list(Landing)),
        crew=dice.choice([crew for crew in Crew if boundary in boundaries[crew]]),
        asking=dice.choice(list(Asking)),
        is_landing_first=dice.random() < 0.5,
        jitter_ms=dice.choice((0, 0, 10, 40)),
        fault=fault,
        second_kill=dice.choice((0, dice.randint(1, _RECOVERY_CALLS))),
    )
