"""A line of keys, each rotated to the next: what must be known of it as long as one works."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from farebox.kernel.errors import Refusal

REMEMBERED: Final = timedelta(days=30)  # a rotation whose line works; longer than any overlap
MOST_ROTATIONS: Final = 1000  # of one line in that time


class RotatedTooOften(Refusal):
    """More keys stand before this one than are remembered."""

    def __init__(self) -> None:
        words = f"A key may be replaced {MOST_ROTATIONS} times in {REMEMBERED.days} days."
        super().__init__("too_many_keys", words)


@dataclass(frozen=True, slots=True)
class Link:
    """A key that works, or was rotated not long ago."""

    id: str
    replaced_by: str | None
    is_live: bool


def keys_before(links: Sequence[Link], key_id: str) -> frozenset[str]:
    """The keys that were rotated, one to the next, until they came to this one."""
    return frozenset(_walk_back(_predecessors(links), key_id))


def leading_to(links: Sequence[Link], new: str) -> frozenset[str]:
    """The keys whose revocation would reach one that works, or `new`, which will."""
    before = _predecessors(links)
    ends = {link.id for link in links if link.is_live} | {new}
    return frozenset(found for end in ends for found in _walk_back(before, end))


def _predecessors(links: Sequence[Link]) -> Mapping[str, str]:
    return {link.replaced_by: link.id for link in links if link.replaced_by is not None}


def _walk_back(before: Mapping[str, str], key_id: str) -> Iterable[str]:
    found = before.get(key_id)
    while found is not None:
        yield found
        found = before.get(found)
