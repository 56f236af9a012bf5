"""Measure an untrusted JSON value without recursion, before anything recurses into it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeGuard

MAX_DEPTH: Final = 32
_MAX_INTEGER_BITS: Final = 1_024  # what the JSON parser of every client still accepts


@dataclass(frozen=True, slots=True)
class Level:
    """The size of all values at one depth, with their member names."""

    values: int
    text: int  # characters of the strings and the names


def measure(value: object, *, most: int) -> tuple[Level, ...] | None:
    """Measure each depth; None when the value is too deep or holds too many values or digits.

    `most` is the maximum number of values in all.
    """
    levels: list[Level] = []
    row: list[object] = [value]
    names = total = 0
    while row:
        total += len(row)
        if len(levels) == MAX_DEPTH or total > most or any(map(_is_too_long, row)):
            return None
        strings = sum([len(each) for each in row if isinstance(each, str)])
        levels.append(Level(len(row), strings + names))
        names = sum([sum(map(len, each)) for each in row if isinstance(each, dict)])
        row = [child for each in row for child in children(each)]
    return tuple(levels)


def walk(value: object) -> Iterator[object]:
    """Iterate over the value and every value inside it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += children(each)


def objects(value: object) -> list[dict[str, object]]:
    """Every JSON object in the value, itself included."""
    return [each for each in walk(value) if is_object(each)]


def children(value: object) -> list[object]:
    """The values directly inside."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether the value is a JSON object."""
    return isinstance(value, dict)


def _is_too_long(value: object) -> bool:
    return type(value) is int and value.bit_length() > _MAX_INTEGER_BITS
