"""A contract's functions, read as the public SDK reads them; the section is a stranger's."""

from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import xdr

from farebox.stellar.contract_code import find_custom_section
from farebox.stellar.contract_interface import (
    MAX_FUNCTIONS,
    MAX_SECTION_BYTES,
    SECTION,
    ContractFunction,
    FunctionInput,
    read_functions,
    read_interface,
)
from farebox.stellar.spec_types import EnumType, PlainType, StructType, UnionType, VecType
from farebox.stellar.xdr_reader import Malformed
from support.contract_specs import (
    NAMES,
    Function,
    bytes_n,
    function,
    mapping,
    named,
    option,
    plain,
    result,
    sdk_functions,
    section,
    several,
    type_name,
    vec,
)
from support.damaged_bytes import damaged
from support.examples import examples

WASM: Final = sorted((Path(__file__).parents[3] / "contracts" / "wasm").glob("*.wasm"))
I128: Final = plain(xdr.SCSpecType.SC_SPEC_TYPE_I128)
ADDRESS: Final = plain(xdr.SCSpecType.SC_SPEC_TYPE_ADDRESS)
_KIND: Final = xdr.SCSpecEntryKind

types: Final = st.recursive(
    st.one_of(
        st.sampled_from(list(NAMES)).map(plain),
        st.integers(0, 2**32 - 1).map(bytes_n),
        st.sampled_from(["Manners", "_Key", "T1"]).map(named),
    ),
    lambda inner: st.one_of(
        inner.map(option),
        inner.map(vec),
        st.tuples(inner, inner).map(lambda both: mapping(*both)),
        st.tuples(inner, inner).map(lambda both: result(*both)),
        st.lists(inner, max_size=4).map(several),
    ),
    max_leaves=6,
)
words: Final = st.builds(
    str.__add__, st.sampled_from("AZaz_"), st.text("AZaz09_", max_size=20)
)  # a pattern takes forty times as long
functions: Final = st.builds(
    lambda name, inputs, output, doc: function(name, inputs, output, doc=doc),
    words,
    st.lists(st.tuples(words, types), max_size=4),
    st.none() | types,
    st.text(st.characters(codec="ascii"), max_size=40),
)


def others() -> list[xdr.SCSpecEntry]:
    """An entry of every kind but a function."""
    doc, lib, name = b"words", b"lib", b"Name"
    case = xdr.SCSpecUDTUnionCaseV0Kind
    cases = [
        xdr.SCSpecUDTUnionCaseV0(
            case.SC_SPEC_UDT_UNION_CASE_VOID_V0, void_case=xdr.SCSpecUDTUnionCaseVoidV0(doc, b"No")
        ),
        xdr.SCSpecUDTUnionCaseV0(
            case.SC_SPEC_UDT_UNION_CASE_TUPLE_V0,
            tuple_case=xdr.SCSpecUDTUnionCaseTupleV0(doc, b"Some", [I128, vec(ADDRESS)]),
        ),
    ]
    location = xdr.SCSpecEventParamLocationV0.SC_SPEC_EVENT_PARAM_LOCATION_TOPIC_LIST
    event = xdr.SCSpecEventV0(
        doc=doc,
        lib=lib,
        name=xdr.SCSymbol(b"moved"),
        prefix_topics=[xdr.SCSymbol(b"transfer")],
        params=[xdr.SCSpecEventParamV0(doc, b"to", ADDRESS, location)],
        data_format=xdr.SCSpecEventDataFormat.SC_SPEC_EVENT_DATA_FORMAT_MAP,
    )
    errors = [xdr.SCSpecUDTErrorEnumCaseV0(doc, b"Bad", xdr.Uint32(1))]
    numbers = [xdr.SCSpecUDTEnumCaseV0(doc, b"One", xdr.Uint32(1))]
    return [
        xdr.SCSpecEntry(
            _KIND.SC_SPEC_ENTRY_UDT_STRUCT_V0,
            udt_struct_v0=xdr.SCSpecUDTStructV0(
                doc, lib, name, [xdr.SCSpecUDTStructFieldV0(doc, b"amount", I128)]
            ),
        ),
        xdr.SCSpecEntry(
            _KIND.SC_SPEC_ENTRY_UDT_UNION_V0,
            udt_union_v0=xdr.SCSpecUDTUnionV0(doc, lib, name, cases),
        ),
        xdr.SCSpecEntry(
            _KIND.SC_SPEC_ENTRY_UDT_ENUM_V0,
            udt_enum_v0=xdr.SCSpecUDTEnumV0(doc, lib, name, numbers),
        ),
        xdr.SCSpecEntry(
            _KIND.SC_SPEC_ENTRY_UDT_ERROR_ENUM_V0,
            udt_error_enum_v0=xdr.SCSpecUDTErrorEnumV0(doc, lib, name, errors),
        ),
        xdr.SCSpecEntry(_KIND.SC_SPEC_ENTRY_EVENT_V0, event_v0=event),
    ]


def as_tuples(content: bytes) -> list[Function]:
    """The functions that our reader finds."""
    return [
        (
            each.name,
            [(one.name, str(one.type)) for one in each.inputs],
            None if each.output is None else str(each.output),
        )
        for each in read_functions(content)
    ]


def nested(depth: int) -> xdr.SCSpecTypeDef:
    """Vectors in each other."""
    kind = I128
    for _ in range(depth):
        kind = vec(kind)
    return kind


def test_functions_of_committed_contracts_are_read_as_the_sdk_reads_them() -> None:
    assert len(WASM) > 1
    contents = {path.stem: find_custom_section(path.read_bytes(), SECTION) for path in WASM}
    read = {name: as_tuples(content) for name, content in contents.items() if content}
    assert read == {name: sdk_functions(content) for name, content in contents.items() if content}
    assert [path.stem for path in WASM if not read.get(path.stem)] == []


def test_functions_are_read_between_entries_of_every_other_kind() -> None:
    first = function("balance", [("id", ADDRESS)], I128)
    last = function("transfer", [("from", ADDRESS), ("amount", I128)])
    assert read_functions(section(first, *others(), last)) == (
        ContractFunction(
            "balance", (FunctionInput("id", PlainType("Address")),), PlainType("i128")
        ),
        ContractFunction(
            "transfer",
            (
                FunctionInput("from", PlainType("Address")),
                FunctionInput("amount", PlainType("i128")),
            ),
            None,
        ),
    )


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(functions, max_size=4))
def test_generated_functions_are_read_as_the_sdk_reads_them(entries: list[xdr.SCSpecEntry]) -> None:
    content = section(*entries)
    assert as_tuples(content) == sdk_functions(content)


@settings(max_examples=examples(400), deadline=None)
@given(damaged(st.just(section(function("pay", [("to", nested(3))], I128), *others()))))
def test_damaged_section_is_refused_or_read_as_the_sdk_reads_it(content: bytes) -> None:
    try:
        found = as_tuples(content)
    except Malformed:
        return
    assert found == sdk_functions(content)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_or_hold_no_function(content: bytes) -> None:
    try:
        read_functions(content)
    except Malformed:
        return


def test_empty_section_has_no_function() -> None:
    assert read_functions(b"") == ()


def test_types_are_nested_to_eight_levels_and_no_deeper() -> None:
    content = section(function("deep", [("a", nested(8))]))
    (found,) = read_functions(content)
    assert str(found.inputs[0].type) == type_name(nested(8))
    with pytest.raises(Malformed):
        read_functions(section(function("deep", [("a", nested(9))])))


@pytest.mark.parametrize(
    "content",
    [
        section(function("pay")) + b"\0",
        (6).to_bytes(4, "big") + bytes(12),
        section(function("two words")),
        section(function("1st")),
        section(function("")),
        section(function("pay", [("to me", ADDRESS)])),
        section(function("pay", [("to", named("<script>"))])),
        section(function("pay", [("ignore\nall", ADDRESS)])),
        bytes(4) + (1_025).to_bytes(4, "big") + b"x" * 1_028 + section(function("f"))[8:],
        section(*[function("f")] * (MAX_FUNCTIONS + 1)),
        bytes(MAX_SECTION_BYTES + 4),
        section(function("f", [("a", several([I128] * 12))])).replace(
            (12).to_bytes(4, "big"), (13).to_bytes(4, "big")
        ),
    ],
)
def test_section_with_a_broken_rule_is_refused(content: bytes) -> None:
    with pytest.raises(Malformed):
        read_functions(content)


def test_most_functions_are_read() -> None:
    found = read_functions(section(*[function(f"f{n}") for n in range(MAX_FUNCTIONS)]))
    assert len(found) == MAX_FUNCTIONS


def struct(name: str, *fields: tuple[str, xdr.SCSpecTypeDef]) -> xdr.SCSpecEntry:
    """The description of a struct."""
    members = [xdr.SCSpecUDTStructFieldV0(b"", each.encode(), kind) for each, kind in fields]
    return xdr.SCSpecEntry(
        _KIND.SC_SPEC_ENTRY_UDT_STRUCT_V0,
        udt_struct_v0=xdr.SCSpecUDTStructV0(b"", b"", name.encode(), members),
    )


def test_types_of_the_contract_are_read_with_their_members() -> None:
    of_structs, of_unions, of_enums, _, _ = others()
    wanted = (
        (of_structs, StructType((("amount", PlainType("i128")),))),
        (
            of_unions,
            UnionType((("No", ()), ("Some", (PlainType("i128"), VecType(PlainType("Address")))))),
        ),
        (of_enums, EnumType((("One", 1),))),
    )
    for entry, form in wanted:
        assert dict(read_interface(section(entry)).types) == {"Name": form}


def test_type_that_is_defined_in_two_ways_is_left_out() -> None:
    one, two = struct("T", ("a", I128)), struct("T", ("a", ADDRESS))
    assert set(read_interface(section(one, one)).types) == {"T"}
    assert set(read_interface(section(one, two)).types) == set()
    assert set(read_interface(section(one, two, one)).types) == set()


def test_struct_with_numbered_fields_is_a_tuple() -> None:
    content = section(struct("Pair", ("0", I128), ("1", ADDRESS)), struct("Odd", ("1", I128)))
    types = read_interface(content).types
    pair, odd = types["Pair"], types["Odd"]
    assert isinstance(pair, StructType)
    assert isinstance(odd, StructType)
    assert pair.is_tuple
    assert not odd.is_tuple


def test_function_is_found_by_its_name_unless_two_have_it() -> None:
    interface = read_interface(section(function("one"), function("two"), function("two")))
    assert interface.find("one") == interface.functions[0]
    assert interface.find("two") is None
    assert interface.find("three") is None
