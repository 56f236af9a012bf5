"""Slugs of wrappers."""

from itertools import islice

import pytest

from farebox.gateway.wrappers.slug import MAX_SLUG, alternative_slugs, derive_slug, is_slug


@pytest.mark.parametrize("text", ["abc", "a-b", "0-0", "a" * MAX_SLUG, "a--", "weather-2"])
def test_lower_case_letters_digits_and_hyphens_make_a_slug(text: str) -> None:
    assert is_slug(text)


@pytest.mark.parametrize(
    "text",
    ["", "ab", "-ab", "Abc", "a_b", "a.b", "a/b", "a%62c", "abc\n", "\u0430bc", "a" * 64, "a b"],
)
def test_other_text_is_no_slug(text: str) -> None:
    assert not is_slug(text)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("City Weather", "city-weather"),
        ("  Caf\u00e9 & Bar! ", "cafe-bar"),
        ("AI", "ai-api"),
        ("\u5929\u6c17", "api"),
        ("x" * 100, "x" * 63),
        ("--", "api"),
    ],
)
def test_slug_is_derived_from_the_name(name: str, slug: str) -> None:
    assert derive_slug(name) == slug
    assert is_slug(slug)


def test_alternatives_of_a_taken_slug_are_numbered() -> None:
    assert list(islice(alternative_slugs("abc"), 3)) == ["abc", "abc-2", "abc-3"]
    assert all(map(is_slug, islice(alternative_slugs("a" * MAX_SLUG), 30)))
