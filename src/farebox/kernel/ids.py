"""Ids of records: random, so that none can be guessed, with the kind of record as prefix."""

import re
import secrets
from functools import lru_cache
from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LENGTH: Final = 22  # characters of 62: 130 bits


def random_text(length: int) -> str:
    """Random letters and digits, `length` of them: 5.95 bits each."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def new_id(kind: str) -> str:
    """A unique id: `key_…` for the kind `key`."""
    return f"{kind}_{random_text(_LENGTH)}"


def is_id(kind: str, text: str) -> bool:
    """Whether the text has the form of an id of this kind."""
    return _pattern(kind).match(text) is not None


@lru_cache(maxsize=32)
def _pattern(kind: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(kind)}_[0-9A-Za-z]{{{_LENGTH}}}\Z", re.ASCII)
