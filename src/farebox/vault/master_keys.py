"""The operator's master keys: the first one seals, all of them open."""

import base64
import binascii
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from farebox.kernel.secret import Secret

KEY_BYTES: Final = 32
MAX_KEYS: Final = 16
_MIN_DISTINCT: Final = 16  # byte values, and differences of neighbours; about 30 is usual
_ENTRY: Final = re.compile(r"([1-9][0-9]{0,8}):([A-Za-z0-9+/]{1,128}={0,2})\Z", re.ASCII)


class MasterKeysFault(StrEnum):
    """Why a text is no list of master keys; the value says what is required."""

    UNREADABLE = "version:key pairs separated by commas, such as 2:<base64>,1:<base64>"
    TOO_MANY = f"at most {MAX_KEYS} master keys"
    WRONG_LENGTH = f"keys of {KEY_BYTES} bytes each, in base64"
    NOT_RANDOM = "random keys, as farebox vault new-key generates"
    SAME_VERSION = "another version for each master key"
    SAME_KEY = "another key for each version"


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """The keys by version; `sealing` is the version that seals new values."""

    sealing: int
    keys: Mapping[int, Secret[bytes]]

    def missing(self, versions: frozenset[int]) -> frozenset[int]:
        """Return those of `versions` that have no key."""
        return versions - self.keys.keys()


def read_master_keys(text: str) -> MasterKeys | MasterKeysFault:
    """Read keys such as `2:<base64>,1:<base64>`, of which the first one seals."""
    entries = [_ENTRY.match(part.strip()) for part in text.split(",")]
    pairs = [(int(each.group(1)), _decode(each.group(2))) for each in entries if each]
    if len(pairs) != len(entries):
        return MasterKeysFault.UNREADABLE
    if len(pairs) > MAX_KEYS:
        return MasterKeysFault.TOO_MANY
    if any(len(key) != KEY_BYTES for _, key in pairs):
        return MasterKeysFault.WRONG_LENGTH
    if not all(_looks_random(key) for _, key in pairs):
        return MasterKeysFault.NOT_RANDOM
    if len({version for version, _ in pairs}) != len(pairs):
        return MasterKeysFault.SAME_VERSION
    if len({key for _, key in pairs}) != len(pairs):
        return MasterKeysFault.SAME_KEY
    keys = MappingProxyType({version: Secret(key) for version, key in pairs})
    return MasterKeys(pairs[0][0], keys)


def _looks_random(key: bytes) -> bool:
    """Whether the key may be random: its bytes and their differences are distinct enough.

    This refuses zeros, repetitions and sequences. It refuses fewer than one of 10^14 random keys,
    so a key of `new_master_key` is never refused.
    """
    differences = {(after - before) % 256 for before, after in pairwise(key)}
    return len(set(key)) >= _MIN_DISTINCT and len(differences) >= _MIN_DISTINCT


def _decode(text: str) -> bytes:
    """Decode canonical base64; returns no bytes for any other text."""
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""
    return raw if base64.b64encode(raw).decode() == text else b""


def new_master_key(known: MasterKeys | None) -> Secret[str]:
    """Generate a key in the setting's format, with a version above every known one."""
    version = max(known.keys, default=0) + 1 if known else 1
    return Secret(f"{version}:{base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}")
