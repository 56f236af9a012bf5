"""A value that must not be logged or printed."""

from typing import Final, Generic, NoReturn, TypeVar

T = TypeVar("T")
MASK: Final = "[secret]"


class Secret(Generic[T]):
    """Holds a key, token, signature or authorization; its text form is a mask.

    It cannot be pickled, formatted or compared by accident: only `reveal` returns it.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def reveal(self) -> T:
        """The value itself; the caller must not print or store it."""
        return self._value

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be serialized")
