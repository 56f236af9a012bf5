"""What a session or a personal key looks like, and how one is made."""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.kernel.ids import random_text
from farebox.kernel.secret import Secret

_LENGTH: Final = 32  # characters of 62: 190 bits
_TOLD: Final = 4  # of them are shown to tell one key from another; 166 bits stay unknown
RESERVED: Final = b"fbx_"  # nothing of the operator's begins like this


class TokenForm(StrEnum):
    """What a token stands for, by how it begins."""

    SESSION = "fbx_sess_"
    KEY = "fbx_live_"


_PATTERN: Final = re.compile(
    rb"(%s|%s)[0-9A-Za-z]{%d}\Z" % (TokenForm.SESSION.encode(), TokenForm.KEY.encode(), _LENGTH)
)
_INSIDE: Final = re.compile(
    r"fbx_(?:live|sess)_[0-9A-Za-z]{8}|(?<![A-Z2-7])S[A-Z2-7]{55}(?![A-Z2-7])", re.ASCII
)
_FORMS: Final = {form.encode(): form for form in TokenForm}


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made: shown once, kept as its digest."""

    shown: Secret[str]
    digest: bytes  # SHA-256
    prefix: str  # enough to tell it by, too little to use


def new_token(form: TokenForm) -> NewToken:
    """A token of this form that nobody can foresee."""
    text = form.value + random_text(_LENGTH)
    return NewToken(Secret(text), digest_of(text.encode()), text[: len(form.value) + _TOLD])


def digest_of(token: bytes) -> bytes:
    """What is kept of a token in its place."""
    return hashlib.sha256(token).digest()


def form_of(token: bytes) -> TokenForm | None:
    """What a token stands for; None when it is not spelled like one of ours."""
    found = _PATTERN.match(token)
    return _FORMS[found.group(1)] if found else None


def holds_secret(text: str) -> bool:
    """Whether a text that others will see holds what looks like a token or an account's seed."""
    return _INSIDE.search(text) is not None
