"""The names and values that a stored secret may have."""

import pytest

from farebox.kernel.secret import Secret
from farebox.vault.stored_secret import InvalidSecret, Purpose, check_value, normalize_name

HEADER, BEARER, OTHER = Purpose.HEADER, Purpose.BEARER, Purpose.OTHER
UNSAFE = ["\r", "\n", "\r\n", "\0", "\t", "\x0b", "\x1b", "\x7f", "\x85", "\u2028", "é", "\u200b"]


def refusal(value: str, purpose: Purpose) -> str:
    with pytest.raises(InvalidSecret) as refused:
        check_value(Secret(value), purpose)
    if value.strip():
        assert value not in refused.value.message
    return refused.value.code


@pytest.mark.parametrize("purpose", [HEADER, BEARER])
@pytest.mark.parametrize("text", UNSAFE)
@pytest.mark.parametrize("form", ["{}token", "tok{}en", "token{}"])
def test_value_with_control_or_non_ascii_characters_is_refused_for_a_header(
    purpose: Purpose, text: str, form: str
) -> None:
    value = form.format(text)
    assert refusal(value, purpose) == "value_not_for_header"
    check_value(Secret(value), OTHER)


def test_spaces_are_accepted_inside_a_header_and_never_in_a_token() -> None:
    check_value(Secret("Basic dXNlcjpwYXNz"), HEADER)
    assert refusal("Bearer abc", BEARER) == "value_not_for_header"
    for value in (" abc", "abc ", " "):
        assert refusal(value, HEADER) == "value_not_for_header"


@pytest.mark.parametrize("purpose", list(Purpose))
def test_value_is_refused_when_empty_or_over_16384_bytes(purpose: Purpose) -> None:
    check_value(Secret("x"), purpose)
    check_value(Secret("x" * 16_384), purpose)
    assert refusal("", purpose) == "invalid_value"
    assert refusal("x" * 16_385, purpose) == "invalid_value"


def test_value_length_is_counted_in_bytes() -> None:
    check_value(Secret("é" * 8_192), OTHER)
    assert refusal("é" * 8_193, OTHER) == "invalid_value"
    assert refusal("𝄞" * 4_097, OTHER) == "invalid_value"


def test_name_is_trimmed_composed_and_printable() -> None:
    assert normalize_name("  Weather key ") == "Weather key"
    assert normalize_name("cafe\u0301") == "café"
    assert normalize_name("ab") == "ab"
    assert normalize_name("n" * 80) == "n" * 80
    for bad in ("", " ", "a", " a ", "n" * 81, "a\0b", "a\nb", "a\u202eb", "a\ud800b", "a\x7fb"):
        with pytest.raises(InvalidSecret, match="A name has 2 to 80 characters"):
            normalize_name(bad)
