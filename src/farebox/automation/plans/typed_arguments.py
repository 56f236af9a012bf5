"""Typed arguments of a call, checked against the contract's own interface (3.4 of the design).

`{"type": T, "value": v}`: T is the type that the interface has at this place, `v` depends on it.
T may also be spelled in full, as a contract's interface is shown: `BytesN<32>`, `Vec<Address>`.

| type | value |
|---|---|
| `u32` … `i256`, `timepoint`, `duration` | decimal text |
| `bool` | true or false |
| `bytes` | hexadecimal text; `bytes` too for a fixed length |
| `string`, `symbol`, `address` | text |
| `void` | null |
| `option` | null, or a typed value |
| `vec`, `tuple` | a list of typed values |
| `map` | a list of pairs of typed values |
| a struct of the contract | an object of typed values, or a list for a tuple struct |
| a union of the contract | `{"case": name, "values": [typed values]}` |
| an enumeration of the contract | the name of a case |
"""

from collections.abc import Mapping
from typing import Final

from farebox.automation.plans.plain_values import (
    PLAIN_NAMES,
    SPELLINGS,
    read_bytes,
    read_plain,
)
from farebox.automation.refusal import spec_mismatch
from farebox.stellar.scval import (
    SYMBOL_MAX_BYTES,
    ScAddress,
    ScBytes,
    ScKind,
    ScMap,
    ScNumber,
    ScValue,
    ScVec,
)
from farebox.stellar.scval_writer import VOID, struct_of, symbol_of
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

MAX_ITEMS: Final = 256  # of one list
_MAX_DEPTH: Final = 8
_MOST_SHOWN: Final = 10
_COMPOUND: Final[Mapping[type[SpecType], str]] = {
    BytesNType: "bytes",
    OptionType: "option",
    VecType: "vec",
    MapType: "map",
    TupleType: "tuple",
    ResultType: "result",
}
_KEY_KINDS: Final = (ScNumber, ScBytes, ScAddress)


class TypedValueReader:
    """Reads typed values against the types that one contract defines.

    `field` in a refusal is the place of the value in the body.
    """

    def __init__(self, types: Mapping[str, UserType]) -> None:
        self._types = types

    def read(self, typed: object, form: SpecType, *, field: str) -> ScValue:
        """Read a value of the type `form`.

        Raises:
            AutomationRefused: `spec_mismatch`, with the place of the wrong part.
        """
        return self._read(typed, form, field, _MAX_DEPTH)

    def _read(self, typed: object, form: SpecType, field: str, depth: int) -> ScValue:
        if depth == 0:
            raise spec_mismatch(field, f"Values are nested {_MAX_DEPTH} deep at most.")
        name, value = _split(typed, field)
        if form == PlainType("Val"):
            form = PlainType(PLAIN_NAMES.get(name, name))
        if name not in (spell_type(form), str(form)):
            raise spec_mismatch(f"{field}.type", f"The contract takes {form} here.")
        return self._read_form(value, form, f"{field}.value", depth - 1)

    def _read_form(self, value: object, form: SpecType, field: str, depth: int) -> ScValue:
        match form:
            case PlainType(name):
                return read_plain(value, name, field)
            case BytesNType(length):
                return read_bytes(value, field, length)
            case OptionType(inner):
                return VOID if value is None else self._read(value, inner, field, depth)
            case VecType(inner):
                members = (inner,) * len(_list(value, field))
                return self._read_members(value, members, field, depth)
            case TupleType(members):
                return self._read_members(value, members, field, depth)
            case MapType(key, inner):
                return self._read_map(value, key, inner, field, depth)
            case NamedType(name):
                return self._read_user(value, name, field, depth)
            case _:
                raise spec_mismatch(field, "A result is no value that can be passed.")

    def _read_members(
        self, value: object, members: tuple[SpecType, ...], field: str, depth: int
    ) -> ScVec:
        items = _list(value, field)
        if len(items) != len(members):
            raise spec_mismatch(field, f"It has {len(members)} values.")
        return ScVec(
            tuple(
                self._read(each, form, f"{field}[{number}]", depth)
                for number, (each, form) in enumerate(zip(items, members, strict=True))
            )
        )

    def _read_map(
        self, value: object, key: SpecType, inner: SpecType, field: str, depth: int
    ) -> ScMap:
        entries = [
            self._read_members(pair, (key, inner), f"{field}[{number}]", depth).items or ()
            for number, pair in enumerate(_list(value, field))
        ]
        pairs = [(pair[0], pair[1]) for pair in entries]
        if not all(isinstance(one, _KEY_KINDS) for one, _ in pairs):
            raise spec_mismatch(field, "A key is a number, bytes, text or an address.")
        if len({one for one, _ in pairs}) < len(pairs):
            raise spec_mismatch(field, "A key is there twice.")
        return ScMap(tuple(sorted(pairs, key=lambda pair: _order(pair[0]))))

    def _read_user(self, value: object, name: str, field: str, depth: int) -> ScValue:
        match self._types.get(name):
            case StructType(fields) as form if form.is_tuple:
                return self._read_members(value, tuple(of for _, of in fields), field, depth)
            case StructType(fields):
                given = _object(value, field, {name for name, _ in fields})
                return struct_of(
                    **{
                        name: self._read(given[name], of, f"{field}.{name}", depth)
                        for name, of in fields
                    }
                )
            case UnionType(cases):
                return self._read_union(value, dict(cases), field, depth)
            case EnumType(cases):
                number = dict(cases).get(value) if isinstance(value, str) else None
                if number is None:
                    raise spec_mismatch(field, _one_of([case for case, _ in cases]))
                return ScNumber(ScKind.U32, number)
            case _:
                raise spec_mismatch(field, f"The contract does not describe its type {name}.")

    def _read_union(
        self, value: object, cases: Mapping[str, tuple[SpecType, ...]], field: str, depth: int
    ) -> ScVec:
        given = _object(value, field, {"case", "values"})
        case = given["case"]
        if not isinstance(case, str) or case not in cases or len(case) > SYMBOL_MAX_BYTES:
            raise spec_mismatch(f"{field}.case", _one_of([*cases]))
        values = self._read_members(given["values"], cases[case], f"{field}.values", depth)
        return ScVec((symbol_of(case), *(values.items or ())))


def spell_type(form: SpecType) -> str:
    """The name of a type in typed values."""
    if isinstance(form, PlainType):
        return SPELLINGS.get(form.name, form.name)
    return form.name if isinstance(form, NamedType) else _COMPOUND[type(form)]


def _split(typed: object, field: str) -> tuple[str, object]:
    given = _object(typed, field, {"type", "value"})
    name = given["type"]
    if not isinstance(name, str):
        raise spec_mismatch(f"{field}.type", "It is the name of a type.")
    return name, given["value"]


def _object(value: object, field: str, names: set[str]) -> Mapping[str, object]:
    if not isinstance(value, dict) or value.keys() != names:
        raise spec_mismatch(field, f"It is an object with {', '.join(sorted(names))}.")
    return value


def _list(value: object, field: str) -> list[object]:
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        raise spec_mismatch(field, f"It is a list of {MAX_ITEMS} at most.")
    return value


def _one_of(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_SHOWN])
    return f"It is one of {shown}{' and others' if len(names) > _MOST_SHOWN else ''}."


def _order(key: ScValue) -> tuple[int, int, bytes]:
    """The order of keys of one type in a map, as the host has it."""
    match key:
        case ScNumber(_, value):
            return 0, value, b""
        case ScAddress(kind, raw):
            return 1, kind, raw
        case ScBytes(_, raw):
            return 2, 0, raw
        case _:
            raise ValueError("no key of a map")
