import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.kernel.amounts import MAX_BASE_UNITS, parse_base_units


@given(st.integers(0, MAX_BASE_UNITS))
def test_every_amount_that_fits_reads_back_from_its_text(value: int) -> None:
    assert parse_base_units(str(value)) == value


@given(st.text(max_size=50))
def test_only_the_canonical_text_of_an_amount_is_read(text: str) -> None:
    value = parse_base_units(text)
    assert value is None or str(value) == text


@pytest.mark.parametrize("value", [2**127, 2**128, 10**39, 10**40])
def test_what_no_transfer_can_carry_is_refused(value: int) -> None:
    assert parse_base_units(str(value)) is None


@pytest.mark.parametrize(
    "text", ["", "00", "1\n", "+1", "-0", " 1", "1 ", "1_0", "１", "1.0", "0x1"]
)
def test_every_other_spelling_is_refused(text: str) -> None:
    assert parse_base_units(text) is None
