"""Derives the call boundaries of a settlement from recordings without faults."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from prove.interceptor import Boundary
from testing.machine import say

RECORDINGS: Final = 5
_USUAL: Final = 3  # recordings that must show a boundary, so that a case can rely on it
# calls of settlements when every recording has them, although background loops make them too
_SHARED_LABELS: Final = (
    "sql BEGIN",
    "sql COMMIT",
    "sql ROLLBACK",
    "sql connect",
    "rpc getLedgerEntries",
)


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
    label: str,
    usual: int = _USUAL,
) -> list[Boundary]:
    """Return the boundaries that `usual` recordings show; print the others as not counted on.

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
        say(f"not counted on ({label}): {each}")
    return sorted(each for each, count in times.items() if count >= usual)
