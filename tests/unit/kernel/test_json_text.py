"""Numbers of JSON texts are read exactly, and a member stands once in an object."""

import json
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from farebox.kernel.json_text import decode_json, read_number

WHOLE = {
    "5": 5,
    "5.0": 5,
    "60.000": 60,
    "1e1": 10,
    "1E+1": 10,
    "1.5e1": 15,
    "100e-1": 10,
    "-0.0": 0,
    "0e400": 0,
    "9007199254740993.0": 2**53 + 1,
    "170141183460469231731687303715884105727.0": 2**127 - 1,
}
BROKEN = ["5.5", "60.00000000000000001", "1e-1", "1e400", "1e-400", "1e99999999999999999999"]


class _Page(msgspec.Struct, forbid_unknown_fields=True):
    size: Annotated[int, Meta(ge=1, le=2**53)]
    note: str = ""


class _Body(msgspec.Struct):
    page: _Page
    free: dict[str, Any] = {}


_INTEGER = msgspec.json.Decoder(int)
_BODY = msgspec.json.Decoder(_Body)
_UNTYPED = msgspec.json.Decoder(float_hook=read_number)


@pytest.mark.parametrize(("text", "value"), WHOLE.items())
def test_integer_is_read_exactly_however_it_is_written(text: str, value: int) -> None:
    for read in (decode_json(text.encode(), _INTEGER), _UNTYPED.decode(text)):
        assert (type(read), read) == (int, value)


@pytest.mark.parametrize("text", BROKEN)
def test_other_number_is_no_integer(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_json(text.encode(), _INTEGER)


def test_other_number_without_a_type_stays_a_float() -> None:
    assert _UNTYPED.decode("[5.5, 1e-400, 1e300]") == [5.5, 0.0, 1e300]
    with pytest.raises(msgspec.ValidationError):
        _UNTYPED.decode("1e400")


@given(st.integers(-(2**255), 2**255), st.integers(0, 30))
def test_every_spelling_of_an_integer_is_that_integer(value: int, places: int) -> None:
    digits = str(abs(value)).rjust(places + 2, "0")
    whole, fraction = digits[: -places - 1].lstrip("0") or "0", digits[-places - 1 :]
    shifted = f"{'-' * (value < 0)}{whole}.{fraction}e{places + 1}"
    for text in (f"{value}.{'0' * (places + 1)}", f"{value}e0", shifted):
        assert decode_json(text.encode(), _INTEGER) == value, text


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3))
def test_number_is_an_integer_only_where_it_equals_one(number: Decimal) -> None:
    read = read_number(f"{number:.3f}")
    assert isinstance(read, int) == (number == int(number))


def test_integer_deep_in_a_body_is_held_to_its_bounds() -> None:
    assert decode_json(b'{"page": {"size": 2e1}, "free": {"a": 0.5}}', _BODY) == _Body(
        _Page(20), {"a": 0.5}
    )
    with pytest.raises(msgspec.ValidationError, match=r"at `\$\.page\.size`"):
        decode_json(b'{"page": {"size": 0.0}}', _BODY)


def test_text_that_looks_like_a_number_stays_text() -> None:
    assert decode_json(b'{"page": {"size": 1.0, "note": "5.0"}}', _BODY).page.note == "5.0"
    with pytest.raises(msgspec.ValidationError):
        decode_json(b'{"page": {"size": "1.0"}}', _BODY)
    with pytest.raises(msgspec.ValidationError):
        decode_json(b'{"page": {"size": 1.0, "note": 5.0}}', _BODY)


@pytest.mark.parametrize(
    "text",
    [
        b'{"page": {"size": 1, "size": 2}}',
        b'{"page": {"size": 1.0, "size": 2}}',
        b'{"page": {"size": 1}, "free": {"a": {"b": 1, "\\u0062": 2}}}',
        b'{"page": {"size": 1}, "other": 1, "other": 1}',
    ],
)
def test_member_that_stands_twice_is_refused(text: bytes) -> None:
    json.loads(text)  # a reader that takes the last one
    with pytest.raises(msgspec.ValidationError, match="repeats"):
        decode_json(text, _BODY)
