"""A contract's functions, as its code describes them in the section contractspecv0 (SEP-48).

The section is a stranger's: names are held to what a Rust name can be, every count and depth is
bounded, and nothing of an unknown form is skipped. Documentation is not kept.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from farebox.stellar.scval import SYMBOL_MAX_BYTES
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


@dataclass(frozen=True, slots=True)
class FunctionInput:
    """A parameter: its name and its type, as in `Vec<Address>`."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ContractFunction:
    """A function of a contract; `output` None means that it returns nothing."""

    name: str
    inputs: tuple[FunctionInput, ...]
    output: str | None


class _Entry(IntEnum):
    """SCSpecEntryKind."""

    FUNCTION = 0
    STRUCT = 1
    UNION = 2
    ENUM = 3
    ERROR_ENUM = 4
    EVENT = 5


def read_functions(section: bytes) -> tuple[ContractFunction, ...]:
    """Read every function of the section, in its order.

    Raises:
        Malformed: an unknown form, or larger than the bounds.
    """
    if len(section) > MAX_SECTION_BYTES:
        raise Malformed
    reader = XdrReader(section, max_items=_MAX_ITEMS)
    functions: list[ContractFunction] = []
    for _ in range(_MAX_ENTRIES):
        if reader.at == len(section):
            return tuple(functions)
        kind = reader.uint32()
        if kind == _Entry.FUNCTION and len(functions) < MAX_FUNCTIONS:
            functions.append(_read_function(reader))
        elif kind in _SKIP:
            reader.opaque(_DOC_BYTES)
            reader.opaque(_LIBRARY_BYTES)
            _SKIP[kind](reader)
        else:
            raise Malformed
    raise Malformed


def _read_function(reader: XdrReader) -> ContractFunction:
    reader.opaque(_DOC_BYTES)
    name = _name(reader, SYMBOL_MAX_BYTES)
    inputs = tuple(_read_input(reader) for _ in range(reader.count(_MAX_MEMBERS)))
    output = _read_type(reader) if reader.flag() else None  # a list of one type at most
    return ContractFunction(name, inputs, output)


def _read_input(reader: XdrReader) -> FunctionInput:
    reader.opaque(_DOC_BYTES)
    return FunctionInput(_name(reader, _MEMBER_NAME_BYTES), _read_type(reader))


def _name(reader: XdrReader, limit: int) -> str:
    raw = reader.opaque(limit)
    if not _NAME.match(raw):
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
_COMPOUND: Final[Mapping[int, tuple[str, int]]] = {
    1000: ("Option", 1),
    1001: ("Result", 2),
    1002: ("Vec", 1),
    1004: ("Map", 2),
}
_TUPLE: Final = 1005
_BYTES_N: Final = 1006
_USER_DEFINED: Final = 2000


def _read_type(reader: XdrReader, depth: int = _MAX_DEPTH) -> str:
    """A type as it is written in Rust."""
    arm = reader.uint32()
    if arm in _PLAIN:
        return _PLAIN[arm]
    if arm == _USER_DEFINED:
        return _name(reader, _TYPE_NAME_BYTES)
    if arm == _BYTES_N:
        return f"BytesN<{reader.uint32()}>"
    if depth == 0:
        raise Malformed
    if arm == _TUPLE:
        members = [_read_type(reader, depth - 1) for _ in range(reader.count(_MAX_TUPLE))]
        return f"({', '.join(members)})"
    if arm not in _COMPOUND:
        raise Malformed
    name, parameters = _COMPOUND[arm]
    inner = [_read_type(reader, depth - 1) for _ in range(parameters)]
    return f"{name}<{', '.join(inner)}>"


def _skip_struct(reader: XdrReader) -> None:
    reader.opaque(_TYPE_NAME_BYTES)
    for _ in range(reader.count(_MAX_MEMBERS)):
        _read_input(reader)


def _skip_union(reader: XdrReader) -> None:
    reader.opaque(_TYPE_NAME_BYTES)
    for _ in range(reader.count(_MAX_MEMBERS)):
        has_types = reader.flag()
        reader.opaque(_DOC_BYTES)
        reader.opaque(_TYPE_NAME_BYTES)
        for _ in range(reader.count(_MAX_TUPLE) if has_types else 0):
            _read_type(reader)


def _skip_enum(reader: XdrReader) -> None:
    reader.opaque(_TYPE_NAME_BYTES)
    for _ in range(reader.count(_MAX_MEMBERS)):
        reader.opaque(_DOC_BYTES)
        reader.opaque(_TYPE_NAME_BYTES)
        reader.skip(4)


def _skip_event(reader: XdrReader) -> None:
    reader.opaque(SYMBOL_MAX_BYTES)
    for _ in range(reader.count(_MAX_PREFIXES)):
        reader.opaque(SYMBOL_MAX_BYTES)
    for _ in range(reader.count(_MAX_MEMBERS)):
        _read_input(reader)
        reader.flag()  # in the data, or in a topic
    if reader.uint32() >= _DATA_FORMATS:
        raise Malformed


_SKIP: Final[Mapping[int, Callable[[XdrReader], None]]] = {
    int(_Entry.STRUCT): _skip_struct,
    int(_Entry.UNION): _skip_union,
    int(_Entry.ENUM): _skip_enum,
    int(_Entry.ERROR_ENUM): _skip_enum,
    int(_Entry.EVENT): _skip_event,
}
