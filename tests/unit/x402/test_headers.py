import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.x402.headers import decode_header, encode_header

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.text(), JSON, max_size=3))
def test_header_round_trips(value: dict[str, object]) -> None:
    text = encode_header(value)
    assert decode_header(text) == value
    assert base64.b64decode(text, validate=True)
    assert len(text) % 4 == 0


@pytest.mark.parametrize(
    "dress",
    [
        str,
        lambda text: text.rstrip("="),
        lambda text: f" \t{text}\r\n",
        lambda text: text.replace("+", "-").replace("/", "_"),
    ],
)
def test_header_is_read_with_any_padding_alphabet_and_outer_whitespace(dress: object) -> None:
    assert callable(dress)
    value = {"x": "\u00ff\u00fe>>>???", "n": 1}
    assert decode_header(dress(encode_header(value))) == value


@given(st.text(max_size=300))
def test_decode_header_raises_for_no_text(text: str) -> None:
    decoded = decode_header(text)
    assert decoded is None or isinstance(decoded, dict)


@pytest.mark.parametrize("raw", [b"[]", b"null", b"1", b"{", b"\xff", b"[" * 5000, b""])
def test_header_that_is_no_json_object_is_none(raw: bytes) -> None:
    assert decode_header(base64.b64encode(raw).decode()) is None
