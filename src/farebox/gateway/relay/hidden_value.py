"""Keep an upstream's credential out of what buyers get."""

import re
from collections.abc import AsyncIterator, Iterable
from typing import Final

from farebox.kernel.secret import Secret

MIN_BYTES: Final = 6  # a shorter value may be part of any text by chance
# one character as JSON, a URL, HTML or XML write it in place of itself
_ESCAPE: Final = re.compile(
    rb"\\u00([0-9a-f]{2})|\\([\"/\\t])|%([0-9a-f]{2})"
    rb"|&#x0{0,4}([0-9a-f]{2});|&#0{0,4}([0-9]{2,3});|&(amp|apos|gt|lt|quot);",
    re.IGNORECASE,
)
# the beginning of one, at the end of a part
_BEGUN: Final = re.compile(
    rb"(?:\\(?:u0{0,2}|u00[0-9a-f])?|%[0-9a-f]?"
    rb"|&(?:#x?[0-9a-f]{0,7}|a|am|amp|ap|apo|apos|g|gt|l|lt|q|qu|quo|quot)?)\Z",
    re.IGNORECASE,
)
_LONGEST: Final = 10  # bytes of an escape
_CODING_HEADERS: Final = ("content-encoding", "transfer-encoding")
_PLAIN: Final = frozenset({"", "chunked", "identity"})  # codings that leave a body readable here
_NAMED: Final = {b"amp": b"&", b"apos": b"'", b"gt": b">", b"lt": b"<", b"quot": b'"'}


class CredentialShown(Exception):
    """The response holds the credential that it was asked with, or is coded so that it may."""


class HiddenValue:
    """A value that no response may show; None or a short one hides nothing.

    It is found as it stands, in letters of either case (a header's name is passed on in lower
    ones), and with any of its characters escaped, as JSON, URLs and HTML do; not in another coding
    of the text, such as base64 or UTF-16.
    """

    def __init__(self, value: Secret[str] | None) -> None:
        text = "" if value is None else value.reveal()
        is_hidden = len(text) >= MIN_BYTES
        plain = text.encode("latin-1", "replace").lower() if is_hidden else b""
        self._values = Secret(tuple(dict.fromkeys((plain, _unescape(plain)))) if plain else ())

    def is_in(self, text: bytes) -> bool:
        """Whether a text holds the value."""
        values = self._values.reveal()
        if not values:
            return False
        text = text.lower()
        plain = _unescape(text)
        return values[0] in text or any(value in plain for value in values)

    def check_codings(self, headers: Iterable[tuple[str, str]]) -> None:
        """Check that the body comes in no coding in which the value would not be found.

        Raises:
            CredentialShown: it has a content coding or a transfer coding.
        """
        values = [value for name, value in headers if name.lower() in _CODING_HEADERS]
        codings = {each.strip().lower() for each in ",".join(values).split(",")}
        if self._values.reveal() and not codings <= _PLAIN:
            raise CredentialShown

    async def watch(self, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the parts of a body; an end that may begin the value is held back.

        Raises:
            CredentialShown: the body holds the value; no part of it was yielded.
        """
        held = b""
        async for part in parts:
            text = held + part
            if self.is_in(text):
                raise CredentialShown
            at = self._possible_start(text)
            held = text[at:]
            if at:
                yield text[:at]
        if held:
            yield held

    def _possible_start(self, text: bytes) -> int:
        """Return where the longest end of the text begins that the value may begin with."""
        values = self._values.reveal()
        if not values:
            return len(text)
        text, whole = text.lower(), len(text)
        if begun := _BEGUN.search(text, max(0, len(text) - _LONGEST)):
            whole = _before_escape(begun.start(), text)
        raw = text[:whole]
        plain = _unescape(raw)
        starts = [_start_in(raw, values[0])]
        starts += [_place_of(_start_in(plain, value), raw, plain) for value in values]
        return _before_escape(min(starts), raw)


def _start_in(text: bytes, value: bytes) -> int:
    """Return where the longest end of `text` begins that `value` begins with."""
    at = text.find(value[:1], max(0, len(text) - len(value) + 1))
    while at >= 0:
        if value.startswith(text[at:]):
            return at
        at = text.find(value[:1], at + 1)
    return len(text)


def _place_of(at: int, text: bytes, plain: bytes) -> int:
    """Return the place in `text` of the place `at` in `plain`, the same text without escapes."""
    if at == len(plain):
        return len(text)
    for escape in _ESCAPE.finditer(text):
        if escape.start() >= at:
            break
        at += len(escape[0]) - 1
    return at


def _before_escape(at: int, text: bytes) -> int:
    """Return the place, or the start of the escape that it stands in.

    All are read from the first on: which of two backslashes escapes the other depends on it.
    """
    if at < len(text):
        for escape in _ESCAPE.finditer(text):
            if escape.end() > at:
                return min(at, escape.start())
    return at


def _unescape(text: bytes) -> bytes:
    return _ESCAPE.sub(_character, text)


def _character(escape: re.Match[bytes]) -> bytes:
    json, own, url, hexadecimal, decimal, named = escape.groups()
    if own is not None:
        return b"\t" if own == b"t" else own
    if named is not None:
        return _NAMED[named.lower()]
    code = int(decimal) if decimal is not None else int(json or url or hexadecimal, 16)
    return bytes((code,)).lower() if code < 256 else escape[0]
