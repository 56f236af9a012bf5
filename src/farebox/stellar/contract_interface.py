"""A contract's functions and types, as its code describes them (section contractspecv0, SEP-48).

The section is a stranger's: names are held to what a Rust name can be, every count and depth is
bounded, and nothing of an unknown form is skipped. Documentation is not kept.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from farebox.stellar.scval import SYMBOL_MAX_BYTES
from farebox.stellar.spec_types import (
    BytesNType,
    EnumType,
    MapType,
    NamedType,
    OptionType,
    PlainType,
    ResultType,
    SpecType,
    StructType,
    TupleType,
    UnionType,
    UserType,
    VecType,
)
from farebox.stellar.xdr_reader import Malformed, XdrReader

SECTION: Final = "contractspecv0"
MAX_SECTION_BYTES: Final = 65_536
MAX_FUNCTIONS: Final = 500
_MAX_ITEMS: Final = 16_384
_MAX_ENTRIES: Final = 2_000
_MAX_MEMBERS: Final = 1_000  # of one function or type
_MAX_DEPTH: Final = 8  # of types in each other
_MAX_TUPLE: Final = 12
_DOC_BYTES: Final = 1_024
_LIBRARY_BYTES: Final = 80
_TYPE_NAME_BYTES: Final = 60
_MEMBER_NAME_BYTES: Final = 30
_MAX_PREFIXES: Final = 2
_DATA_FORMATS: Final = 3
_NAME: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*\Z")
_FIELD_NAME: Final = re.compile(rb"(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]{1,2})\Z")  # or of a tuple


@dataclass(frozen=True, slots=True)
class FunctionInput:
    """A parameter: its name and its type."""

    name: str
    type: SpecType


@dataclass(frozen=True, slots=True)
class ContractFunction:
    """A function of a contract; `output` None means that it returns nothing."""

    name: str
    inputs: tuple[FunctionInput, ...]
    output: SpecType | None


@dataclass(frozen=True, slots=True)
class ContractInterface:
    """A contract's functions, and the types that it defines for its values, by their names.

    A name that the section defines in two ways is left out of `types`. Error enumerations and
    events are no types of values.
    """

    functions: tuple[ContractFunction, ...]
    types: Mapping[str, UserType]

    def find(self, name: str) -> ContractFunction | None:
        """The function of this name; None without one, or with more than one."""
        found = [function for function in self.functions if function.name == name]
        return found[0] if len(found) == 1 else None


class _Entry(IntEnum):
    """SCSpecEntryKind."""

    FUNCTION = 0
    STRUCT = 1
    UNION = 2
    ENUM = 3
    ERROR_ENUM = 4
    EVENT = 5


def read_interface(section: bytes) -> ContractInterface:
    """Read every function of the section, in its order, and every type that it defines.

    Raises:
        Malformed: an unknown form, or larger than the bounds.
    """
    if len(section) > MAX_SECTION_BYTES:
        raise Malformed
    reader = XdrReader(section, max_items=_MAX_ITEMS)
    functions: list[ContractFunction] = []
    types: dict[str, UserType | None] = {}
    for _ in range(_MAX_ENTRIES):
        if reader.at == len(section):
            known = {name: found for name, found in types.items() if found is not None}
            return ContractInterface(tuple(functions), MappingProxyType(known))
        kind = reader.uint32()
        if kind == _Entry.FUNCTION and len(functions) < MAX_FUNCTIONS:
            functions.append(_read_function(reader))
            continue
        reader.opaque(_DOC_BYTES)
        reader.opaque(_LIBRARY_BYTES)
        if kind in _USER_TYPES:
            name = _name(reader, _TYPE_NAME_BYTES)
            found = _USER_TYPES[kind](reader)
            types[name] = found if types.get(name, found) == found else None
        elif kind == _Entry.EVENT:
            _skip_event(reader)
        else:
            raise Malformed
    raise Malformed


def read_functions(section: bytes) -> tuple[ContractFunction, ...]:
    """Read every function of the section; raises as `read_interface`."""
    return read_interface(section).functions


def _read_function(reader: XdrReader) -> ContractFunction:
    reader.opaque(_DOC_BYTES)
    name = _name(reader, SYMBOL_MAX_BYTES)
    inputs = tuple(_read_input(reader) for _ in range(reader.count(_MAX_MEMBERS)))
    output = _read_type(reader) if reader.flag() else None  # a list of one type at most
    return ContractFunction(name, inputs, output)


def _read_input(reader: XdrReader) -> FunctionInput:
    reader.opaque(_DOC_BYTES)
    return FunctionInput(_name(reader, _MEMBER_NAME_BYTES), _read_type(reader))


def _name(reader: XdrReader, limit: int, pattern: re.Pattern[bytes] = _NAME) -> str:
    raw = reader.opaque(limit)
    if not pattern.match(raw):
        raise Malformed
    return raw.decode()


# SCSpecType
_PLAIN: Final[Mapping[int, str]] = {
    0: "Val",
    1: "bool",
    2: "void",
    3: "Error",
    4: "u32",
    5: "i32",
    6: "u64",
    7: "i64",
    8: "Timepoint",
    9: "Duration",
    10: "u128",
    11: "i128",
    12: "u256",
    13: "i256",
    14: "Bytes",
    16: "String",
    17: "Symbol",
    19: "Address",
    20: "MuxedAddress",
}
_OPTION: Final = 1000
_RESULT: Final = 1001
_VEC: Final = 1002
_MAP: Final = 1004
_TUPLE: Final = 1005
_BYTES_N: Final = 1006
_USER_DEFINED: Final = 2000


def _read_type(reader: XdrReader, depth: int = _MAX_DEPTH) -> SpecType:
    arm = reader.uint32()
    if arm in _PLAIN:
        return PlainType(_PLAIN[arm])
    if arm == _USER_DEFINED:
        return NamedType(_name(reader, _TYPE_NAME_BYTES))
    if arm == _BYTES_N:
        return BytesNType(reader.uint32())
    if depth == 0:
        raise Malformed
    if arm == _TUPLE:
        return TupleType(
            tuple(_read_type(reader, depth - 1) for _ in range(reader.count(_MAX_TUPLE)))
        )
    return _read_compound(reader, arm, depth - 1)


def _read_compound(reader: XdrReader, arm: int, depth: int) -> SpecType:
    if arm == _OPTION:
        return OptionType(_read_type(reader, depth))
    if arm == _VEC:
        return VecType(_read_type(reader, depth))
    if arm == _MAP:
        return MapType(_read_type(reader, depth), _read_type(reader, depth))
    if arm == _RESULT:
        return ResultType(_read_type(reader, depth), _read_type(reader, depth))
    raise Malformed


def _read_struct(reader: XdrReader) -> StructType:
    return StructType(tuple(_read_field(reader) for _ in range(reader.count(_MAX_MEMBERS))))


def _read_field(reader: XdrReader) -> tuple[str, SpecType]:
    reader.opaque(_DOC_BYTES)
    return _name(reader, _MEMBER_NAME_BYTES, _FIELD_NAME), _read_type(reader)


def _read_union(reader: XdrReader) -> UnionType:
    return UnionType(tuple(_read_union_case(reader) for _ in range(reader.count(_MAX_MEMBERS))))


def _read_union_case(reader: XdrReader) -> tuple[str, tuple[SpecType, ...]]:
    has_types = reader.flag()
    reader.opaque(_DOC_BYTES)
    name = _name(reader, _TYPE_NAME_BYTES)
    count = reader.count(_MAX_TUPLE) if has_types else 0
    return name, tuple(_read_type(reader) for _ in range(count))


def _read_enum(reader: XdrReader) -> EnumType:
    return EnumType(tuple(_read_enum_case(reader) for _ in range(reader.count(_MAX_MEMBERS))))


def _read_enum_case(reader: XdrReader) -> tuple[str, int]:
    reader.opaque(_DOC_BYTES)
    return _name(reader, _TYPE_NAME_BYTES), reader.uint32()


def _skip_errors(reader: XdrReader) -> None:
    """The numbers of a contract's errors are no values."""
    _read_enum(reader)


def _skip_event(reader: XdrReader) -> None:
    reader.opaque(SYMBOL_MAX_BYTES)
    for _ in range(reader.count(_MAX_PREFIXES)):
        reader.opaque(SYMBOL_MAX_BYTES)
    for _ in range(reader.count(_MAX_MEMBERS)):
        _read_input(reader)
        reader.flag()  # in the data, or in a topic
    if reader.uint32() >= _DATA_FORMATS:
        raise Malformed


_USER_TYPES: Final[Mapping[int, Callable[[XdrReader], UserType | None]]] = {
    int(_Entry.STRUCT): _read_struct,
    int(_Entry.UNION): _read_union,
    int(_Entry.ENUM): _read_enum,
    int(_Entry.ERROR_ENUM): _skip_errors,
}
