"""Sections that describe a contract: written and read by the public SDK."""

from collections.abc import Sequence
from typing import Final

from stellar_sdk import xdr
from xdrlib3 import Unpacker

_Type = xdr.SCSpecType
NAMES: Final = {
    _Type.SC_SPEC_TYPE_VAL: "Val",
    _Type.SC_SPEC_TYPE_BOOL: "bool",
    _Type.SC_SPEC_TYPE_VOID: "void",
    _Type.SC_SPEC_TYPE_ERROR: "Error",
    _Type.SC_SPEC_TYPE_U32: "u32",
    _Type.SC_SPEC_TYPE_I32: "i32",
    _Type.SC_SPEC_TYPE_U64: "u64",
    _Type.SC_SPEC_TYPE_I64: "i64",
    _Type.SC_SPEC_TYPE_TIMEPOINT: "Timepoint",
    _Type.SC_SPEC_TYPE_DURATION: "Duration",
    _Type.SC_SPEC_TYPE_U128: "u128",
    _Type.SC_SPEC_TYPE_I128: "i128",
    _Type.SC_SPEC_TYPE_U256: "u256",
    _Type.SC_SPEC_TYPE_I256: "i256",
    _Type.SC_SPEC_TYPE_BYTES: "Bytes",
    _Type.SC_SPEC_TYPE_STRING: "String",
    _Type.SC_SPEC_TYPE_SYMBOL: "Symbol",
    _Type.SC_SPEC_TYPE_ADDRESS: "Address",
    _Type.SC_SPEC_TYPE_MUXED_ADDRESS: "MuxedAddress",
}
Function = tuple[str, list[tuple[str, str]], str | None]


def plain(kind: xdr.SCSpecType) -> xdr.SCSpecTypeDef:
    """A type without parameters."""
    return xdr.SCSpecTypeDef(kind)


def vec(inner: xdr.SCSpecTypeDef) -> xdr.SCSpecTypeDef:
    """A vector."""
    return xdr.SCSpecTypeDef(_Type.SC_SPEC_TYPE_VEC, vec=xdr.SCSpecTypeVec(inner))


def option(inner: xdr.SCSpecTypeDef) -> xdr.SCSpecTypeDef:
    """A value that may be missing."""
    return xdr.SCSpecTypeDef(_Type.SC_SPEC_TYPE_OPTION, option=xdr.SCSpecTypeOption(inner))


def mapping(key: xdr.SCSpecTypeDef, value: xdr.SCSpecTypeDef) -> xdr.SCSpecTypeDef:
    """A map."""
    return xdr.SCSpecTypeDef(_Type.SC_SPEC_TYPE_MAP, map=xdr.SCSpecTypeMap(key, value))


def result(ok: xdr.SCSpecTypeDef, error: xdr.SCSpecTypeDef) -> xdr.SCSpecTypeDef:
    """A value or an error."""
    return xdr.SCSpecTypeDef(_Type.SC_SPEC_TYPE_RESULT, result=xdr.SCSpecTypeResult(ok, error))


def several(types: Sequence[xdr.SCSpecTypeDef]) -> xdr.SCSpecTypeDef:
    """A tuple."""
    return xdr.SCSpecTypeDef(_Type.SC_SPEC_TYPE_TUPLE, tuple=xdr.SCSpecTypeTuple(list(types)))


def bytes_n(length: int) -> xdr.SCSpecTypeDef:
    """Bytes of a fixed length."""
    kind = xdr.SCSpecTypeBytesN(xdr.Uint32(length))
    return xdr.SCSpecTypeDef(_Type.SC_SPEC_TYPE_BYTES_N, bytes_n=kind)


def named(name: str) -> xdr.SCSpecTypeDef:
    """A type of the contract's own."""
    return xdr.SCSpecTypeDef(_Type.SC_SPEC_TYPE_UDT, udt=xdr.SCSpecTypeUDT(name.encode()))


def function(
    name: str,
    inputs: Sequence[tuple[str, xdr.SCSpecTypeDef]] = (),
    output: xdr.SCSpecTypeDef | None = None,
    *,
    doc: str = "",
) -> xdr.SCSpecEntry:
    """The description of a function."""
    return xdr.SCSpecEntry(
        xdr.SCSpecEntryKind.SC_SPEC_ENTRY_FUNCTION_V0,
        function_v0=xdr.SCSpecFunctionV0(
            doc=doc.encode(),
            name=xdr.SCSymbol(name.encode()),
            inputs=[
                xdr.SCSpecFunctionInputV0(doc=b"", name=each.encode(), type=kind)
                for each, kind in inputs
            ],
            outputs=[] if output is None else [output],
        ),
    )


def section(*entries: xdr.SCSpecEntry) -> bytes:
    """The content of a section."""
    return b"".join(each.to_xdr_bytes() for each in entries)


def sdk_functions(content: bytes) -> list[Function]:
    """The functions of a section, as the SDK reads it."""
    unpacker, found = Unpacker(content), []
    while unpacker.get_position() < len(content):
        entry = xdr.SCSpecEntry.unpack(unpacker)
        if entry.function_v0 is not None:
            found.append(_function(entry.function_v0))
    return found


def _function(read: xdr.SCSpecFunctionV0) -> Function:
    inputs = [(each.name.decode(), type_name(each.type)) for each in read.inputs]
    output = type_name(read.outputs[0]) if read.outputs else None
    return read.name.sc_symbol.decode(), inputs, output


def type_name(kind: xdr.SCSpecTypeDef) -> str:
    """A type as it is written in Rust."""
    if kind.type in NAMES:
        return NAMES[kind.type]
    if kind.option is not None:
        return f"Option<{type_name(kind.option.value_type)}>"
    if kind.vec is not None:
        return f"Vec<{type_name(kind.vec.element_type)}>"
    if kind.map is not None:
        return f"Map<{type_name(kind.map.key_type)}, {type_name(kind.map.value_type)}>"
    if kind.result is not None:
        return f"Result<{type_name(kind.result.ok_type)}, {type_name(kind.result.error_type)}>"
    if kind.tuple is not None:
        return f"({', '.join(map(type_name, kind.tuple.value_types))})"
    if kind.bytes_n is not None:
        return f"BytesN<{kind.bytes_n.n.uint32}>"
    assert kind.udt is not None
    return kind.udt.name.decode()
