"""Session tokens and API keys: their format, generation and digest."""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.kernel.ids import random_text
from farebox.kernel.secret import Secret

_LENGTH: Final = 32  # characters of 62: 190 bits
_SHOWN_CHARACTERS: Final = 4  # in the prefix that identifies a key; 166 bits stay secret
RESERVED_PREFIX: Final = b"fbx_"  # no operator's key starts with it


class TokenType(StrEnum):
    """The kind of a token; its value is the prefix."""

    SESSION = "fbx_sess_"
    KEY = "fbx_live_"


_PATTERN: Final = re.compile(
    rb"(%s|%s)[0-9A-Za-z]{%d}\Z" % (TokenType.SESSION.encode(), TokenType.KEY.encode(), _LENGTH)
)
_INSIDE: Final = re.compile(
    r"fbx_(?:live|sess)_[0-9A-Za-z]{8}|(?<![A-Z2-7])S[A-Z2-7]{55}(?![A-Z2-7])", re.ASCII
)
_KINDS: Final = {kind.encode(): kind for kind in TokenType}


@dataclass(frozen=True, slots=True)
class NewToken:
    """A generated token; the database stores its digest alone."""

    value: Secret[str]
    digest: bytes  # SHA-256
    prefix: str  # identifies the token to its owner


def new_token(kind: TokenType) -> NewToken:
    """Generate a random token of this kind."""
    text = kind.value + random_text(_LENGTH)
    return NewToken(
        Secret(text), digest_of(text.encode()), text[: len(kind.value) + _SHOWN_CHARACTERS]
    )


def digest_of(token: bytes) -> bytes:
    """Return the SHA-256 digest under which a token is stored."""
    return hashlib.sha256(token).digest()


def token_kind(token: bytes) -> TokenType | None:
    """Return the kind of a well-formed token; None for every other text."""
    match = _PATTERN.match(token)
    return _KINDS[match.group(1)] if match else None


def contains_secret(text: str) -> bool:
    """Whether a text looks as if it held a token or an account's secret seed."""
    return _INSIDE.search(text) is not None
