"""Remove secrets from log events, by the name of a field and by its value."""

import re
from collections.abc import Mapping, MutableMapping
from enum import Enum
from functools import lru_cache
from typing import Final

from farebox.kernel.secret import MASK, Secret

_KEYS: Final = frozenset(
    {
        "authorization",
        "body",
        "cookie",
        "credential",
        "dsn",
        "envelope",
        "headers",
        "key",
        "params",
        "password",
        "payload",
        "seed",
        "signature",
        "token",
        "url",
        "x-payment",
        "xdr",
    }
)
_KEY_PARTS: Final = (
    "secret",
    "password",
    "signature",
    "authorization",
    "token",
    "api_key",
    "api-key",
    "xdr",
    "envelope",
    "seed",
    "cookie",
    "_url",
    "payload",
)
_VALUES: Final = re.compile(
    r"""
      AAAA[A-Za-z0-9+/_-]{8,}={0,2}                  # XDR in base64
    | (?<![A-Z0-9])S[A-Z2-7]{55}(?![A-Z0-9])         # a secret seed
    | (?i:\bbearer)\s+[^\s"',;]+                     # a token
    | \bfbx_[a-z]+_[A-Za-z0-9_-]+                    # a key or session of ours
    | \b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s"'<>]+    # a URL, which may contain a key
    | \beyJ[A-Za-z0-9+/_-]{16,}={0,2}                # JSON in base64: a payment header
    | (?i:\b(?:[a-z_-]*(?:token|secret|password|authorization|signature|api[_-]?key|seed))
      ["']?\s*[=:]\s*(?:basic\s+)?["']?)[^\s"',;)}]{4,}   # a value after such a name
    | [A-Za-z0-9+/_-]{72,}={0,2}                     # any long run: a signature, in base64 or hex
    """,
    re.VERBOSE | re.ASCII,
)
_DEPTH: Final = 6


@lru_cache(maxsize=512)
def is_secret_key(name: str) -> bool:
    """Whether a field of this name is always masked."""
    lowered = name.lower()
    return lowered in _KEYS or any(part in lowered for part in _KEY_PARTS)


def redact_text(text: str) -> str:
    """Mask everything in a text that looks like a secret, a signature, XDR or a URL."""
    return _VALUES.sub(MASK, text) if len(text) > 8 else text


def redact(value: object, depth: int = 0) -> object:
    """Redact a value, recursively."""
    if isinstance(value, str):
        return redact_text(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Secret | bytes | bytearray | memoryview) or depth > _DEPTH:
        return MASK
    if isinstance(value, Mapping):
        return {
            redact_text(str(name)): MASK if is_secret_key(str(name)) else redact(item, depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(item, depth + 1) for item in value]
    return redact_text(str(value))


def redact_event(
    logger: object, method: str, event: MutableMapping[str, object]
) -> MutableMapping[str, object]:
    """Redact every field of an event, as a structlog processor."""
    for name, value in event.items():
        if is_secret_key(name):
            event[name] = MASK
        elif type(value) is str:
            if len(value) > 8:
                event[name] = _VALUES.sub(MASK, value)
        elif isinstance(value, Enum):  # a member of our own closed set, not input
            event[name] = value.value
        elif type(value) is not int and type(value) is not float:
            event[name] = redact(value)
    return event
