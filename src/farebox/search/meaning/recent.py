"""What was looked up lately, so that it need not be looked up again."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def _one(_: object) -> int:
    return 1


class Recent(Generic[Key, Value]):
    """The keys that were used last, as long as their values are of `most` together.

    Each value is one, or what `size` says; the one whose use is longest ago goes first.
    """

    def __init__(self, most: int, *, size: Callable[[Value], int] = _one) -> None:
        self._most, self._size, self._together = most, size, 0
        self._kept: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """What is kept under the key; None where nothing is."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: Key, value: Value) -> None:
        """The value is kept under the key until others that were used since need the room."""
        if key in self._kept:
            self._together -= self._size(self._kept.pop(key))
        self._kept[key] = value
        self._together += self._size(value)
        while self._together > self._most:
            self._together -= self._size(self._kept.popitem(last=False)[1])
