import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.kernel.amounts import MAX_BASE_UNITS, parse_base_units


@given(st.integers(0, MAX_BASE_UNITS))
def test_amount_round_trips_through_its_text(value: int) -> None:
    assert parse_base_units(str(value)) == value


@given(st.text(max_size=50))
def test_amount_is_read_only_from_its_canonical_text(text: str) -> None:
    value = parse_base_units(text)
    assert value is None or str(value) == text


@pytest.mark.parametrize("value", [2**127, 2**128, 10**39, 10**40])
def test_amount_over_an_i128_is_none(value: int) -> None:
    assert parse_base_units(str(value)) is None


@pytest.mark.parametrize(
    "text", ["", "00", "1\n", "+1", "-0", " 1", "1 ", "1_0", "１", "1.0", "0x1"]
)
def test_amount_in_another_spelling_is_none(text: str) -> None:
    assert parse_base_units(text) is None
