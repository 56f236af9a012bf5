"""Byte strings damaged the ways a hostile or broken sender would: a hypothesis strategy."""

from random import Random
from typing import Final

from hypothesis import strategies as st

COPIES: Final = 8  # of an original

_EDGES: Final = (0x100, 2**31 - 1, 2**31, 2**32 - 1)


def _word(random: Random) -> bytes:
    number = random.choice((random.randint(0, 30), random.choice(_EDGES), random.getrandbits(32)))
    return number.to_bytes(4, "big")


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


_WAYS: Final = (_flip, _overwrite, _overwrite, _cut, _insert, _delete, _append, _repeat)
_SEEDS: Final = st.integers(0, 2**64 - 1)  # a draw for each choice takes ten times as long


def _damage(raw: bytes, random: Random) -> bytes:
    for _ in range(random.randint(1, 2)):
        raw = random.choice(_WAYS)(raw, random.randint(0, len(raw)), _word(random))
    return raw


@st.composite
def damaged(draw: st.DrawFn, originals: st.SearchStrategy[bytes]) -> bytes:
    """An original changed in one or two places."""
    return _damage(draw(originals), Random(draw(_SEEDS)))


@st.composite
def damaged_copies(draw: st.DrawFn, originals: st.SearchStrategy[bytes]) -> list[bytes]:
    """Eight copies of one original, each damaged: for originals that are dear to draw."""
    raw, random = draw(originals), Random(draw(_SEEDS))
    return [_damage(raw, random) for _ in range(COPIES)]
