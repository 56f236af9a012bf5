"""Requests and listings in pairs, and how far the one answers the other.

Most were found by the model: the listings nearest to a request in meaning, each judged by reading
it. What it takes for near and is not is what it has to learn.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from eval.examples import Example, as_asked
from farebox.search.query.request_text import asked_for

FOLDER: Final = Path(__file__).parent / "data" / "judged"
KEPT_ASIDE: Final = 20  # one listing in so many, and one request, is not learned from
NO, SOME, YES = 0.0, 0.6, 1.0  # of no help, of some, what was asked for
_TARGETS: Final = (NO, SOME, YES)  # by grade


class Judged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request and what was said of listings, by their URLs: 0, 1 or 2."""

    request: str
    answers: Mapping[str, int]


class Pair(NamedTuple):
    """A request as the model is handed it, and a listing's number."""

    request: str
    listing: int
    target: float  # 0 to 1


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs to learn from, and those of which neither request nor listing stands among them."""

    learned: tuple[Pair, ...]
    aside: tuple[Pair, ...]


def read_judged(folder: Path = FOLDER) -> list[Judged]:
    """All of them, in the order of the files.

    Raises:
        ValueError: a line is not what it should be.
    """
    files = sorted(folder.glob("*.jsonl"))
    lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]
    return [msgspec.json.decode(line, type=Judged) for line in lines]


def pairs_of(examples: Sequence[Example], judged: Sequence[Judged]) -> Pairs:
    """What is written with the listings, and what was judged beside it."""
    numbers = {example.url: number for number, example in enumerate(examples)}
    targets: dict[tuple[str, int], float] = {}
    aside: set[str] = set()
    own: set[str] = set()
    for number, example in enumerate(examples):
        for target, requests in ((YES, example.fits), (NO, example.near)):
            asked = [as_handed(request) for request in requests]
            targets |= {(request, number): target for request in asked}
            own |= set(asked)
            if _is_kept(number):
                aside |= set(asked)
    for each in judged:
        request = as_handed(each.request)
        if request not in own and _is_kept(hashlib.sha256(request.encode()).digest()[0]):
            aside.add(request)
        for url, grade in each.answers.items():
            targets.setdefault((request, numbers[url]), _TARGETS[grade])
    found = [Pair(request, number, target) for (request, number), target in targets.items()]
    return Pairs(
        tuple(pair for pair in found if not _is_kept(pair.listing) and pair.request not in aside),
        tuple(pair for pair in found if _is_kept(pair.listing) and pair.request in aside),
    )


def as_handed(request: str) -> str:
    """The request as the search hands it to the model, but for mistyped words."""
    return as_asked(asked_for(request))


def _is_kept(number: int) -> bool:
    return number % KEPT_ASIDE == 0
