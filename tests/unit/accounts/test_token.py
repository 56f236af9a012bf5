"""Tokens: what they look like."""

import hashlib

import pytest

from farebox.accounts.token import TokenForm, form_of, new_token


@pytest.mark.parametrize("form", TokenForm)
def test_a_new_token_is_of_its_form_and_is_kept_as_its_digest(form: TokenForm) -> None:
    made = new_token(form)
    text = made.shown.reveal()
    assert form_of(text.encode()) is form
    assert made.digest == hashlib.sha256(text.encode()).digest()
    assert text.startswith(made.prefix)
    assert len(made.prefix) == len(form.value) + 4
    assert text[len(made.prefix) :] not in f"{made!r} {made}"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"fbx_live_",
        b"fbx_live_" + b"a" * 31,
        b"fbx_live_" + b"a" * 33,
        b"fbx_live_" + b"a" * 31 + b"-",
        b"fbx_live_" + b"a" * 32 + b"\n",
        b"FBX_LIVE_" + b"a" * 32,
        b"fbx_test_" + b"a" * 32,
        b" fbx_live_" + b"a" * 32,
    ],
)
def test_what_is_spelled_otherwise_is_of_no_form(text: bytes) -> None:
    assert form_of(text) is None
