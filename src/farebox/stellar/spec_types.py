"""The types in a contract's description (SCSpecTypeDef and the user-defined types, SEP-48).

The text of a type is as it is written in Rust: `Vec<Address>`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlainType:
    """A type without parameters, by its name in Rust: `i128`, `Address`, `Val`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class BytesNType:
    """Bytes of a fixed length."""

    length: int

    def __str__(self) -> str:
        return f"BytesN<{self.length}>"


@dataclass(frozen=True, slots=True)
class NamedType:
    """A type that the contract defines itself."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OptionType:
    """A value that may be missing."""

    inner: "SpecType"

    def __str__(self) -> str:
        return f"Option<{self.inner}>"


@dataclass(frozen=True, slots=True)
class VecType:
    """A vector."""

    inner: "SpecType"

    def __str__(self) -> str:
        return f"Vec<{self.inner}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """A map."""

    key: "SpecType"
    value: "SpecType"

    def __str__(self) -> str:
        return f"Map<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class ResultType:
    """A value or an error."""

    ok: "SpecType"
    error: "SpecType"

    def __str__(self) -> str:
        return f"Result<{self.ok}, {self.error}>"


@dataclass(frozen=True, slots=True)
class TupleType:
    """Several values in a fixed order."""

    members: "tuple[SpecType, ...]"

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.members))})"


SpecType = (
    PlainType | BytesNType | NamedType | OptionType | VecType | MapType | ResultType | TupleType
)


@dataclass(frozen=True, slots=True)
class StructType:
    """A struct of the contract's; one whose fields are numbered from 0 is a tuple."""

    fields: tuple[tuple[str, SpecType], ...]

    @property
    def is_tuple(self) -> bool:
        """Whether its value is a vector and no map."""
        names = [name for name, _ in self.fields]
        return bool(names) and names == [str(number) for number in range(len(names))]


@dataclass(frozen=True, slots=True)
class UnionType:
    """A union: each case with the types of its values."""

    cases: tuple[tuple[str, tuple[SpecType, ...]], ...]


@dataclass(frozen=True, slots=True)
class EnumType:
    """An enumeration of numbers."""

    cases: tuple[tuple[str, int], ...]


UserType = StructType | UnionType | EnumType
