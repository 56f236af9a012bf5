"""Byte strings damaged the ways a hostile or broken sender would: a hypothesis strategy."""

from typing import Final

from hypothesis import strategies as st

COPIES: Final = 8  # of an original

_WORDS = st.one_of(
    st.integers(0, 30),
    st.sampled_from([0x100, 2**31 - 1, 2**31, 2**32 - 1]),
    st.integers(0, 2**32 - 1),
).map(lambda number: number.to_bytes(4, "big"))


def _flip(raw: bytes, at: int, word: bytes) -> bytes:
    return raw[:at] + bytes(b ^ (1 << word[3] % 8) for b in raw[at : at + 1]) + raw[at + 1 :]


def _overwrite(raw: bytes, at: int, word: bytes) -> bytes:
    return raw[: at & ~3] + word + raw[(at & ~3) + 4 :]


def _cut(raw: bytes, at: int, word: bytes) -> bytes:
    return raw[:at]


def _insert(raw: bytes, at: int, word: bytes) -> bytes:
    return raw[: at & ~3] + word + raw[at & ~3 :]


def _delete(raw: bytes, at: int, word: bytes) -> bytes:
    return raw[: at & ~3] + raw[(at & ~3) + 4 :]


def _append(raw: bytes, at: int, word: bytes) -> bytes:
    return raw + word


def _repeat(raw: bytes, at: int, word: bytes) -> bytes:
    end = (at & ~3) + 4 * (word[3] % 20)
    return raw[:end] + raw[at & ~3 :]


_WAYS = st.sampled_from([_flip, _overwrite, _overwrite, _cut, _insert, _delete, _append, _repeat])


@st.composite
def damaged(draw: st.DrawFn, originals: st.SearchStrategy[bytes]) -> bytes:
    """An original changed in one or two places."""
    raw = draw(originals)
    for _ in range(draw(st.integers(1, 2))):
        damage = draw(_WAYS)
        raw = damage(raw, draw(st.integers(0, len(raw))), draw(_WORDS))
    return raw


@st.composite
def damaged_copies(draw: st.DrawFn, originals: st.SearchStrategy[bytes]) -> list[bytes]:
    """Eight copies of one original, each damaged: for originals that are dear to draw."""
    copies = damaged(st.just(draw(originals)))
    return [draw(copies) for _ in range(COPIES)]
