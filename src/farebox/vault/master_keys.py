"""The operator's master keys: which one seals, and which ones still open."""

import base64
import binascii
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from farebox.kernel.secret import Secret

KEY_BYTES: Final = 32
MOST_KEYS: Final = 16
_ENTRY: Final = re.compile(r"([1-9][0-9]{0,8}):([A-Za-z0-9+/]{1,128}={0,2})\Z", re.ASCII)


class KeysFlaw(StrEnum):
    """Why a text names no master keys, as what is wanted of it."""

    UNREADABLE = "version:key pairs separated by commas, such as 2:<base64>,1:<base64>"
    TOO_MANY = f"at most {MOST_KEYS} master keys"
    WRONG_LENGTH = f"keys of {KEY_BYTES} bytes each, in base64"
    SAME_VERSION = "another version for each master key"
    SAME_KEY = "another key for each version"


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """Every key by its version; new values are sealed with the one of version `sealing`."""

    sealing: int
    keys: Mapping[int, Secret[bytes]]

    def missing(self, versions: frozenset[int]) -> frozenset[int]:
        """Those of `versions` that nothing here opens."""
        return versions - self.keys.keys()


def read_master_keys(text: str) -> MasterKeys | KeysFlaw:
    """The keys that `2:<base64>,1:<base64>` names, of which the first one seals."""
    entries = [_ENTRY.match(part.strip()) for part in text.split(",")]
    pairs = [(int(each.group(1)), _decoded(each.group(2))) for each in entries if each]
    if len(pairs) != len(entries):
        return KeysFlaw.UNREADABLE
    if len(pairs) > MOST_KEYS:
        return KeysFlaw.TOO_MANY
    if any(len(key) != KEY_BYTES for _, key in pairs):
        return KeysFlaw.WRONG_LENGTH
    if len({version for version, _ in pairs}) != len(pairs):
        return KeysFlaw.SAME_VERSION
    if len({key for _, key in pairs}) != len(pairs):
        return KeysFlaw.SAME_KEY
    keys = MappingProxyType({version: Secret(key) for version, key in pairs})
    return MasterKeys(pairs[0][0], keys)


def _decoded(text: str) -> bytes:
    """The bytes; none when it is not base64 in its one spelling."""
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""
    return raw if base64.b64encode(raw).decode() == text else b""


def new_master_key(known: MasterKeys | None) -> Secret[str]:
    """A fresh key as it is written in the setting, its version one above every known one."""
    version = max(known.keys, default=0) + 1 if known else 1
    return Secret(f"{version}:{base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}")
