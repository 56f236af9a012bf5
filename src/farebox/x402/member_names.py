"""Whether an object of a JSON text has a member name twice.

Readers differ in which of two members they take (RFC 8259, section 4), so that whoever stands in
front of this service may have read another amount or recipient than it does.
"""

import json
import re
from typing import Final

import orjson

_COLON: Final = b":"
_MAYBE_ESCAPED: Final = b"\\u003"
_ESCAPED_COLON: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u003[Aa]")  # an odd run of backslashes


def has_repeated_name(text: bytes) -> bool:
    """Whether an object at any depth of `text`, a valid JSON text, names a member twice.

    Names are compared as they read after their escapes. A text nested too deeply to be compared
    counts as one that does.
    """
    try:
        # A reader keeps one member of each name, and a member has one colon outside of strings: a
        # text read and written again has as many colons as before, unless a member was lost.
        return orjson.dumps(orjson.loads(text)).count(_COLON) != _colons(text)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return _has_repeated_name(text)


def _colons(text: bytes) -> int:
    """Colons of the text once its escapes are resolved."""
    escaped = len(_ESCAPED_COLON.findall(text)) if _MAYBE_ESCAPED in text else 0
    return text.count(_COLON) + escaped


class _Repeated(Exception):
    """A name stands twice in one object."""


def _has_repeated_name(text: bytes) -> bool:
    """The same for what orjson does not read or write: lone surrogates, hundreds of levels."""
    try:
        json.loads(text, object_pairs_hook=_refuse_repeated, parse_int=len)
    except (_Repeated, RecursionError, ValueError):
        return True
    return False


def _refuse_repeated(members: list[tuple[str, object]]) -> None:
    if len({name for name, _ in members}) != len(members):
        raise _Repeated
