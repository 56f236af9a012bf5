"""The size of a JSON value from outside, before anything walks through it by recursion."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_DEPTH: Final = 32
MAX_VALUES: Final = 4_000
_MAX_INTEGER_BITS: Final = 1_024  # what every client's JSON reader still reads


@dataclass(frozen=True, slots=True)
class Level:
    """All values at one depth, and the member names they stand under."""

    values: int
    text: int  # characters of the strings and the names


def measure(value: object) -> tuple[Level, ...] | None:
    """What stands at each depth; None when it is deeper, wider or longer than is read."""
    levels: list[Level] = []
    row: list[object] = [value]
    names = total = 0
    while row:
        total += len(row)
        if len(levels) == MAX_DEPTH or total > MAX_VALUES or any(map(_is_too_long, row)):
            return None
        strings = sum(len(each) for each in row if isinstance(each, str))
        levels.append(Level(len(row), strings + names))
        names = sum(len(name) for each in row if isinstance(each, dict) for name in each)
        row = [child for each in row for child in children(each)]
    return tuple(levels)


def walk(value: object) -> Iterator[object]:
    """The value and every value inside it; never deeper than `measure` lets through."""
    yield value
    for child in children(value):
        yield from walk(child)


def children(value: object) -> Iterator[object]:
    """The values directly inside."""
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _is_too_long(value: object) -> bool:
    return type(value) is int and value.bit_length() > _MAX_INTEGER_BITS
