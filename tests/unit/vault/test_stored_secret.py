"""What a secret may be called and hold."""

import pytest

from farebox.kernel.secret import Secret
from farebox.vault.stored_secret import BadSecret, Purpose, judge_name, judge_value

HEADER, BEARER, OTHER = Purpose.HEADER, Purpose.BEARER, Purpose.OTHER
UNSAFE = ["\r", "\n", "\r\n", "\0", "\t", "\x0b", "\x1b", "\x7f", "\x85", "\u2028", "é", "\u200b"]


def refusal(value: str, purpose: Purpose) -> str:
    with pytest.raises(BadSecret) as refused:
        judge_value(Secret(value), purpose)
    if value.strip():
        assert value not in refused.value.message
    return refused.value.code


@pytest.mark.parametrize("purpose", [HEADER, BEARER])
@pytest.mark.parametrize("text", UNSAFE)
@pytest.mark.parametrize("form", ["{}token", "tok{}en", "token{}"])
def test_nothing_that_ends_or_hides_in_a_header_is_taken_for_one(
    purpose: Purpose, text: str, form: str
) -> None:
    value = form.format(text)
    assert refusal(value, purpose) == "value_not_for_header"
    judge_value(Secret(value), OTHER)


def test_spaces_stand_inside_a_header_alone_and_never_in_a_token() -> None:
    judge_value(Secret("Basic dXNlcjpwYXNz"), HEADER)
    assert refusal("Bearer abc", BEARER) == "value_not_for_header"
    for value in (" abc", "abc ", " "):
        assert refusal(value, HEADER) == "value_not_for_header"


@pytest.mark.parametrize("purpose", list(Purpose))
def test_a_value_has_a_character_at_least_and_16384_at_most(purpose: Purpose) -> None:
    judge_value(Secret("x"), purpose)
    judge_value(Secret("x" * 16_384), purpose)
    assert refusal("", purpose) == "invalid_value"
    assert refusal("x" * 16_385, purpose) == "invalid_value"


def test_a_name_is_trimmed_composed_and_printable() -> None:
    assert judge_name("  Weather key ") == "Weather key"
    assert judge_name("cafe\u0301") == "café"
    assert judge_name("ab") == "ab"
    assert judge_name("n" * 80) == "n" * 80
    for bad in ("", " ", "a", " a ", "n" * 81, "a\0b", "a\nb", "a\u202eb", "a\ud800b", "a\x7fb"):
        with pytest.raises(BadSecret, match="A name has 2 to 80 characters"):
            judge_name(bad)
