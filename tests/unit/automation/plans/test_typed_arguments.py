"""Typed values against the types of an interface."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stellar_sdk import scval

from farebox.automation.plans.plain_values import PLAIN_NAMES, SPELLINGS
from farebox.automation.plans.typed_arguments import TypedValueReader, spell_type
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.error_codes import ErrorCode
from farebox.stellar.scval import NUMBER_WIDTHS, ScValue
from farebox.stellar.scval_writer import write_value
from farebox.stellar.spec_types import (
    BytesNType,
    MapType,
    NamedType,
    OptionType,
    PlainType,
    ResultType,
    SpecType,
    TupleType,
    VecType,
)
from support.plans import ADDRESS, INTERFACE, OWNER, TARGET, WALLET

READER: Final = TypedValueReader(INTERFACE.types)
U32: Final = PlainType("u32")


def typed(name: str, value: object) -> dict[str, object]:
    """A typed value."""
    return {"type": name, "value": value}


def read(name: str, value: object, form: SpecType) -> ScValue:
    """The value that is read."""
    return READER.read(typed(name, value), form, field="x")


SDK_NUMBERS: Final = {
    "u32": scval.to_uint32,
    "i32": scval.to_int32,
    "u64": scval.to_uint64,
    "i64": scval.to_int64,
    "u128": scval.to_uint128,
    "i128": scval.to_int128,
    "u256": scval.to_uint256,
    "i256": scval.to_int256,
    "timepoint": scval.to_timepoint,
    "duration": scval.to_duration,
}


@given(data=st.data(), name=st.sampled_from([*SDK_NUMBERS]))
def test_number_is_the_value_of_the_sdk(data: st.DataObject, name: str) -> None:
    kind = next(kind for kind in NUMBER_WIDTHS if kind.name.lower() == name)
    length, signed = NUMBER_WIDTHS[kind]
    most = 2 ** (8 * length - signed)
    number = data.draw(st.integers(-most if signed else 0, most - 1))
    form = PlainType(PLAIN_NAMES.get(name, name))
    assert write_value(read(name, str(number), form)) == SDK_NUMBERS[name](number).to_xdr_bytes()
    for outside in (most, -most - 1 if signed else -1):
        with pytest.raises(AutomationRefused):
            read(name, str(outside), form)


SYMBOL: Final = scval.to_symbol
A, B = scval.to_address(OWNER), scval.to_address(WALLET)
ONE: Final = typed("u32", "1")


@pytest.mark.parametrize(
    ("name", "value", "form", "wanted"),
    [
        ("bool", True, PlainType("bool"), scval.to_bool(True)),
        ("void", None, PlainType("void"), scval.to_void()),
        ("bytes", "00ff", PlainType("Bytes"), scval.to_bytes(b"\0\xff")),
        ("bytes", "00ff", BytesNType(2), scval.to_bytes(b"\0\xff")),
        ("string", "né", PlainType("String"), scval.to_string("né")),
        ("symbol", "Ab_1", PlainType("Symbol"), SYMBOL("Ab_1")),
        ("address", OWNER, ADDRESS, A),
        ("address", WALLET, PlainType("MuxedAddress"), B),
        ("option", None, OptionType(U32), scval.to_void()),
        ("option", ONE, OptionType(U32), scval.to_uint32(1)),
        ("vec", [], VecType(U32), scval.to_vec([])),
        ("vec", [ONE, ONE], VecType(U32), scval.to_vec([scval.to_uint32(1)] * 2)),
        (
            "tuple",
            [ONE, typed("address", OWNER)],
            TupleType((U32, ADDRESS)),
            scval.to_vec([scval.to_uint32(1), A]),
        ),
        (
            "map",
            [[typed("address", WALLET), ONE], [typed("address", OWNER), typed("u32", "2")]],
            MapType(ADDRESS, U32),
            scval.to_map({A: scval.to_uint32(2), B: scval.to_uint32(1)}),
        ),
        (
            "map",
            [[typed("i32", "5"), ONE], [typed("i32", "-5"), ONE]],
            MapType(PlainType("i32"), U32),
            scval.to_map(
                {scval.to_int32(-5): scval.to_uint32(1), scval.to_int32(5): scval.to_uint32(1)}
            ),
        ),
        (
            "Step",
            {"protocol": ONE, "path": typed("vec", [typed("address", OWNER)])},
            NamedType("Step"),
            scval.to_map(
                {SYMBOL("path"): scval.to_vec([A]), SYMBOL("protocol"): scval.to_uint32(1)}
            ),
        ),
        (
            "Pair",
            [ONE, typed("address", OWNER)],
            NamedType("Pair"),
            scval.to_vec([scval.to_uint32(1), A]),
        ),
        (
            "Asset",
            {"case": "Stellar", "values": [typed("address", TARGET)]},
            NamedType("Asset"),
            scval.to_vec([SYMBOL("Stellar"), scval.to_address(TARGET)]),
        ),
        (
            "Asset",
            {"case": "Other", "values": []},
            NamedType("Asset"),
            scval.to_vec([SYMBOL("Other")]),
        ),
        ("Level", "High", NamedType("Level"), scval.to_uint32(7)),
        ("address", OWNER, PlainType("Val"), A),
        ("u32", "1", PlainType("Val"), scval.to_uint32(1)),
    ],
)
def test_value_of_each_form_is_the_value_of_the_sdk(
    name: str, value: object, form: SpecType, wanted: Any
) -> None:
    assert write_value(read(name, value, form)).hex() == wanted.to_xdr_bytes().hex()
    assert form == PlainType("Val") or spell_type(form) == name
    shown = name if form == PlainType("Val") else str(form)  # as an interface is shown
    assert write_value(read(shown, value, form)).hex() == wanted.to_xdr_bytes().hex()


@pytest.mark.parametrize(
    ("name", "value", "form", "field"),
    [
        ("u64", "1", U32, "x.type"),
        ("u32", 1, U32, "x.value"),
        ("u32", True, U32, "x.value"),
        ("u32", "01", U32, "x.value"),
        ("u32", "1\n", U32, "x.value"),
        ("u32", "١", U32, "x.value"),
        ("u32", "-0", U32, "x.value"),
        ("i128", "9" * 100, PlainType("i128"), "x.value"),
        ("bool", "true", PlainType("bool"), "x.value"),
        ("bool", 1, PlainType("bool"), "x.value"),
        ("void", 0, PlainType("void"), "x.value"),
        ("bytes", "0F", PlainType("Bytes"), "x.value"),
        ("bytes", "0", PlainType("Bytes"), "x.value"),
        ("bytes", "00" * 4_097, PlainType("Bytes"), "x.value"),
        ("bytes", "00", BytesNType(2), "x.value"),
        ("BytesN<3>", "000000", BytesNType(2), "x.type"),
        ("BytesN<2>", "00", BytesNType(2), "x.value"),
        ("Vec<u64>", [], VecType(U32), "x.type"),
        ("MuxedAddress", OWNER, ADDRESS, "x.type"),
        ("string", "x" * 4_097, PlainType("String"), "x.value"),
        ("symbol", "x" * 33, PlainType("Symbol"), "x.value"),
        ("symbol", "a b", PlainType("Symbol"), "x.value"),
        ("address", "M" + "A" * 68, ADDRESS, "x.value"),
        ("address", OWNER[:-1], ADDRESS, "x.value"),
        ("Error", "1", PlainType("Error"), "x.value"),
        ("Val", "1", PlainType("Val"), "x.value"),
        ("u33", "1", PlainType("Val"), "x.value"),
        ("result", "1", ResultType(U32, U32), "x.value"),
        ("vec", [ONE] * 257, VecType(U32), "x.value"),
        ("vec", [ONE, typed("u64", "1")], VecType(U32), "x.value[1].type"),
        ("vec", {"0": ONE}, VecType(U32), "x.value"),
        ("tuple", [ONE], TupleType((U32, U32)), "x.value"),
        ("map", [[ONE, ONE], [ONE, ONE]], MapType(U32, U32), "x.value"),
        ("map", [[typed("bool", True), ONE]], MapType(PlainType("bool"), U32), "x.value"),
        ("map", [[ONE]], MapType(U32, U32), "x.value[0]"),
        ("Step", {"protocol": ONE}, NamedType("Step"), "x.value"),
        ("Asset", {"case": "None", "values": []}, NamedType("Asset"), "x.value.case"),
        ("Asset", {"case": "Stellar", "values": []}, NamedType("Asset"), "x.value.values"),
        ("Level", "Middle", NamedType("Level"), "x.value"),
        ("Level", ["Low"], NamedType("Level"), "x.value"),
        ("Hidden", {}, NamedType("Hidden"), "x.value"),
    ],
)
def test_value_that_does_not_fit_is_refused_with_its_place(
    name: str, value: object, form: SpecType, field: str
) -> None:
    with pytest.raises(AutomationRefused) as refused:
        read(name, value, form)
    assert (refused.value.code, refused.value.field) == (ErrorCode.SPEC_MISMATCH, field)
    assert len(refused.value.message) < 500


@pytest.mark.parametrize("value", [None, [], "u32", {"type": "u32"}, {"type": 1, "value": "1"}])
def test_argument_without_type_and_value_is_refused(value: object) -> None:
    with pytest.raises(AutomationRefused):
        READER.read(value, U32, field="x")


def test_values_are_nested_to_a_depth_and_no_deeper() -> None:
    form: SpecType = U32
    value = ONE
    for _ in range(7):
        form, value = VecType(form), typed("vec", [value])
    READER.read(value, form, field="x")
    form, value = VecType(form), typed("vec", [value])
    with pytest.raises(AutomationRefused):
        READER.read(value, form, field="x")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["1", OWNER]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "value", "case", "values"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(
    value=json_values,
    form=st.sampled_from(
        [U32, ADDRESS, VecType(U32), MapType(U32, ADDRESS), *map(NamedType, INTERFACE.types)]
    ),
)
def test_every_value_is_read_or_refused(value: object, form: SpecType) -> None:
    for given_value in (value, typed(spell_type(form), value)):
        try:
            written = write_value(READER.read(given_value, form, field="x"))
        except AutomationRefused:
            continue
        assert written


def test_every_spelling_leads_back_to_its_type() -> None:
    assert {PLAIN_NAMES[spelled] for spelled in SPELLINGS.values()} == {*SPELLINGS} - {
        "MuxedAddress"
    }
