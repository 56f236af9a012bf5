"""Clean untrusted text for display: remove everything invisible."""

import re
import unicodedata
from typing import Final

_JOINERS: Final = "\u200c\u200d"  # between letters of scripts that need them, and in emoji
_BLANKS: Final = re.compile(r"\s+")
_REMOVED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0d\U000e0100-\U000e01ef]"
)


def clean_text(text: str, *, limit: int) -> str:
    """Clean the text to one line of at most `limit` characters, in NFC.

    Control characters and separators become spaces; characters without a glyph are removed: bidi
    controls, zero-width characters, tags, private-use and unassigned characters.
    """
    composed = unicodedata.normalize("NFC", _INVISIBLE.sub("", text[: limit * 8]))
    cleaned = "".join(_clean(c, composed, at) for at, c in enumerate(composed))
    return _BLANKS.sub(" ", cleaned).strip()[:limit].rstrip()


def _clean(character: str, text: str, at: int) -> str:
    if character in _JOINERS:
        around = text[at - 1 : at] + text[at + 1 : at + 2]
        return character if len(around) == 2 and not around.isascii() else ""
    category = unicodedata.category(character)
    if category == "Cc" or category[0] == "Z":
        return " "
    return "" if category in _REMOVED else character
