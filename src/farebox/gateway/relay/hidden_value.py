"""Keep an upstream's credential out of what buyers get."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from typing import Final

from farebox.kernel.secret import Secret

MIN_BYTES: Final = 6  # a shorter value may be part of any text by chance
MAX_BYTES: Final = 1_024  # of a value: a longer one is found by its beginning
TURN_BYTES: Final = 64 * 1024  # searched before others have a turn
# one character as JSON, a URL, HTML or XML write it in place of itself, in lower case
_ESCAPE: Final = re.compile(
    rb"(\\u00[0-9a-f]{2}|\\[\"/\\t]|%[0-9a-f]{2}"
    rb"|&#x0{0,4}[0-9a-f]{2};|&#0{0,4}[0-9]{2,3};|&(?:amp|apos|gt|lt|quot);)"
)
# the beginning of one, at the end of a part
_ESCAPE_START: Final = re.compile(
    rb"(?:\\(?:u0{0,2}|u00[0-9a-f])?|%[0-9a-f]?"
    rb"|&(?:#x?[0-9a-f]{0,7}|a|am|amp|ap|apo|apos|g|gt|l|lt|q|qu|quo|quot)?)\Z"
)
_LONGEST: Final = 10  # bytes of an escape
_CODING_HEADERS: Final = ("content-encoding", "transfer-encoding")
_PLAIN: Final = frozenset({"", "chunked", "identity"})  # codings that leave a body readable here
_NAMED: Final = {b"&amp;": b"&", b"&apos;": b"'", b"&gt;": b">", b"&lt;": b"<", b"&quot;": b'"'}
_OWN: Final = {rb"\t": b"\t", rb"\/": b"/", rb"\"": b'"', rb"\\": b"\\"}


def _list_escapes() -> dict[bytes, bytes]:
    """Return the character that each escape stands for, in lower case."""
    escapes = _NAMED | _OWN
    for code in range(256):
        digits = [b"%02x" % code, str(code).encode()]
        spelled = [rb"\u00" + digits[0], b"%" + digits[0]]
        spelled += [b"&#x" + digits[0].zfill(width) + b";" for width in range(2, 7)]
        spelled += [b"&#" + digits[1].zfill(width) + b";" for width in range(2, 8)]
        escapes |= dict.fromkeys(spelled, bytes((code,)).lower())
    return escapes


_CHARACTERS: Final = _list_escapes()


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
        values = (each[:MAX_BYTES] for each in (plain, _unescape(_ESCAPE.split(plain))))
        self._values = Secret(tuple(dict.fromkeys(values)) if plain else ())

    def is_in(self, text: bytes) -> bool:
        """Whether a text holds the value."""
        values = self._values.reveal()
        if not values:
            return False
        text = text.lower()
        return self._shows(text, _unescape(_ESCAPE.split(text)))

    def _shows(self, text: bytes, plain: bytes) -> bool:
        values = self._values.reveal()
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

        The search in long ones is interrupted for others to have a turn.

        Raises:
            CredentialShown: the body holds the value; no part of it was yielded.
        """
        held, searched = b"", 0
        async for whole in parts:
            for start in range(0, len(whole), TURN_BYTES):
                if searched >= TURN_BYTES:
                    searched = 0
                    await asyncio.sleep(0)
                text = held + whole[start : start + TURN_BYTES]
                searched += len(text)
                at = self._search(text)
                held = text[at:]
                if at:
                    yield text[:at]
        if held:
            yield held

    def _search(self, text: bytes) -> int:
        """Return where the longest end of the text begins that the value may begin with.

        Raises:
            CredentialShown: the text holds the value.
        """
        values = self._values.reveal()
        if not values:
            return len(text)
        text = text.lower()
        pieces = _ESCAPE.split(text)  # each second one is an escape
        plain = _unescape(pieces)
        if self._shows(text, plain):
            raise CredentialShown
        cut = _ESCAPE_START.search(pieces[-1], max(0, len(pieces[-1]) - _LONGEST))
        rest = 0 if cut is None else len(cut[0])
        raw, plain = text[: len(text) - rest], plain[: len(plain) - rest]
        pieces[-1] = pieces[-1][: len(pieces[-1]) - rest]
        from_end = len(raw) - _start_in(raw, values[0])
        plain_from_end = max(len(plain) - _start_in(plain, value) for value in values)
        return len(raw) - _length_of_end(pieces, from_end, plain_from_end)


def _start_in(text: bytes, value: bytes) -> int:
    """Return where the longest end of `text` begins that `value` begins with."""
    at = text.find(value[:1], max(0, len(text) - len(value) + 1))
    while at >= 0:
        if value.startswith(text[at:]):
            return at
        at = text.find(value[:1], at + 1)
    return len(text)


def _length_of_end(pieces: list[bytes], raw: int, plain: int) -> int:
    """Return the length of the text's shortest end that splits no escape and has in it both.

    Args:
        pieces: the text, of which each second piece is an escape.
        raw: bytes at the end of the text.
        plain: bytes at its end once it is without escapes.
    """
    length = 0
    for at in range(len(pieces) - 1, -1, -1):
        left = max(raw, plain)
        if left <= 0:
            break
        piece = pieces[at]
        taken = len(piece) if at % 2 else min(left, len(piece))
        length += taken
        raw -= taken
        plain -= len(_CHARACTERS.get(piece, piece)) if at % 2 else taken
    return length


def _unescape(pieces: list[bytes]) -> bytes:
    """Join the pieces of a text, of which each second one is an escape, without the escapes."""
    escapes = pieces[1::2]
    joined = pieces.copy()
    joined[1::2] = map(_CHARACTERS.get, escapes, escapes)
    return b"".join(joined)
