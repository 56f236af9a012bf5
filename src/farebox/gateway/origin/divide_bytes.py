"""Which entries a bounded document shows: owners divide its bytes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heapreplace
from typing import Generic, TypeVar

from farebox.kernel.slots import Share

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A part of a document that is shown whole or not at all."""

    position: tuple[int, int]  # of the wrapper, and in the wrapper
    size: int  # bytes
    value: T


def divide_bytes(
    queues: Iterable[tuple[Share, Iterator[Entry[T]]]], *, limit_bytes: int
) -> tuple[Sequence[T], bool]:
    """Divide the bytes of a document between shares, and take of each its first entries.

    Every share gets as much as any other, and what a small one leaves goes to the larger ones
    (max-min fairness). New shares have together what one share has, and divide that likewise.

    Returns:
        What was taken, in order of the positions, and whether anything was left out.
    """
    known: list[Iterator[Entry[T]]] = []
    new: list[Iterator[Entry[T]]] = []
    for share, queue in queues:
        (new if share.is_new else known).append(queue)
    taken: list[Entry[T]] = []
    left_bytes, is_truncated = limit_bytes, False
    for entry in _in_turn([*known, _in_turn(new)]):
        left_bytes -= entry.size
        if left_bytes < 0:
            is_truncated = True
            break
        taken.append(entry)
    taken.sort(key=lambda each: each.position)
    return [each.value for each in taken], is_truncated


def _in_turn(queues: Sequence[Iterator[Entry[T]]]) -> Iterator[Entry[T]]:
    """Yield the entries of all queues, the next always of the queue that had the fewest bytes."""
    heap = [(0, number, queue) for number, queue in enumerate(queues)]
    while heap:
        had_bytes, number, queue = heap[0]
        entry = next(queue, None)
        if entry is None:
            heappop(heap)
        else:
            yield entry
            heapreplace(heap, (had_bytes + entry.size, number, queue))
