"""Text as plain words, the same for listings and queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.search.plain import GAP, MAX_WORD, plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Weather, forecasts & maps!", "weather forecasts maps"),
        ("getWeatherForecast", f"get weather forecast {GAP} getweatherforecast"),
        ("get_weather/v1.json", "get weather v1 json"),
        ("real-time e-mail", f"real time e mail {GAP} realtime email"),
        ("state-of-the-art", "state of the art"),
        ("the city's", "the city"),
        ("Crème Brûlée", "creme brulee"),
        ("ＡＰＩ ﬁne", "api fine"),
        ("x402 IPv4 PDFs", "x402 ipv4 pdfs"),
        ("हिन्दी 天気", "हिन्दी 天気"),
        ("a\x00b", "a b"),
        ("", ""),
    ],
)
def test_words_are_plain(text: str, plain: str) -> None:
    assert plain_text(text) == plain


@given(st.text(max_size=400))
def test_plain_words_are_short_and_say_the_same_again(text: str) -> None:
    found = plain_text(text).split()
    assert all(len(word) <= MAX_WORD for word in found)
    assert plain_text(" ".join(found)).split() == found
