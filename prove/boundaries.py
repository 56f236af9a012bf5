"""The calls at which a case can fail: those that recordings without faults show."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final, TypeVar

from prove.environment import Environment
from prove.interceptor import Boundary
from prove.run_cases import run_concurrently
from testing.machine import say

K = TypeVar("K")
RECORDINGS: Final = 5
_USUAL: Final = 3  # recordings that must show a boundary, so that a case can rely on it
_NUMBERS: Final = 100_000
NOWHERE: Final = Boundary("no call", 1)  # of a case without a fault
# calls of settlements when every recording has them, although background loops make them too
_SHARED_LABELS: Final = (
    "sql BEGIN",
    "sql COMMIT",
    "sql ROLLBACK",
    "sql connect",
    "rpc getLedgerEntries",
)


async def record_each(
    kinds: Iterable[K],
    record: Callable[[K], Awaitable[list[Boundary]]],
    *,
    times: int = RECORDINGS,
    workers: int = 2,
) -> dict[K, list[list[Boundary]]]:
    """Record the calls of each kind of play without faults so often."""
    recorded: dict[K, list[list[Boundary]]] = {kind: [] for kind in kinds}
    plays = [kind for kind in recorded for _ in range(times)]
    made = await run_concurrently(plays, record, workers=workers, label="recording")
    for kind, calls in zip(plays, made, strict=True):
        recorded[kind].append(calls)
    return recorded


async def labels_when_idle(environment: Environment, *, for_s: float) -> frozenset[str]:
    """Return the labels of the calls that an idle replica makes."""
    replica = await environment.start("a")
    replica.interceptor.start_counting()
    await asyncio.sleep(for_s)
    return frozenset(boundary.label for boundary in replica.interceptor.calls)


def background_labels(
    idle: Collection[str], recordings: Sequence[Sequence[Boundary]]
) -> frozenset[str]:
    """Select the labels that only background loops use from those of an idle replica."""
    labels = [{boundary.label for boundary in each} for each in recordings]
    return frozenset(
        label
        for label in idle
        if not (label.startswith(_SHARED_LABELS) and all(label in each for each in labels))
    )


def usual_boundaries(
    recordings: Sequence[Sequence[Boundary]],
    background: Collection[str],
    *,
    label: str = "",
    usual: int = _USUAL,
) -> list[Boundary]:
    """Return the boundaries that `usual` recordings show; with a label, print the others.

    Background calls are left out, and so are calls whose number depends on free connections: a case
    could not rely on reaching them.
    """
    times = Counter(
        boundary
        for calls in recordings
        for boundary in set(calls)
        if boundary.label not in background
    )
    for each in sorted(each for each, count in times.items() if count < usual):
        if label:
            say(f"not counted on ({label}): {each}")
    return sorted(each for each, count in times.items() if count >= usual)


def all_of(boundaries: Mapping[K, Sequence[Boundary]]) -> list[Boundary]:
    """Return the boundaries of all kinds of plays, once each."""
    return sorted({boundary for each in boundaries.values() for boundary in each})


def tell_boundaries(boundaries: Iterable[Boundary]) -> None:
    """Say which calls the cases fail at."""
    for boundary in boundaries:
        say(f"boundary: {boundary}")


def number_of(*parts: object) -> int:
    """Derive a case number that does not depend on the other cases."""
    text = " ".join(map(str, parts))
    return int(sha256(text.encode()).hexdigest(), 16) % _NUMBERS
