"""The form of tokens."""

import hashlib

import pytest

from farebox.accounts.token import TokenType, new_token, token_kind


@pytest.mark.parametrize("form", TokenType)
def test_new_token_has_its_form_and_digest(form: TokenType) -> None:
    made = new_token(form)
    text = made.value.reveal()
    assert token_kind(text.encode()) is form
    assert made.digest == hashlib.sha256(text.encode()).digest()
    assert text.startswith(made.prefix)
    assert len(made.prefix) == len(form.value) + 4
    assert text[len(made.prefix) :] not in f"{made!r} {made}"


@pytest.mark.parametrize(
    "text",
    [
        b"", b"fbx_live_", b"fbx_live_" + b"a" * 31, b"fbx_live_" + b"a" * 33,
        b"fbx_live_" + b"a" * 31 + b"-", b"fbx_live_" + b"a" * 32 + b"\n", b"FBX_LIVE_" + b"a" * 32,
        b"fbx_test_" + b"a" * 32, b" fbx_live_" + b"a" * 32,
    ],
)  # fmt: skip
def test_malformed_token_has_no_type(text: bytes) -> None:
    assert token_kind(text) is None
