"""Text from outsiders, made fit to be shown: what cannot be seen is not in it."""

import re
import unicodedata
from typing import Final

_JOINERS: Final = "\u200c\u200d"  # between letters of scripts that need them, and in emoji
_BLANKS: Final = re.compile(r"\s+")
_GONE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0d\U000e0100-\U000e01ef]"
)


def clean_text(text: str, *, limit: int) -> str:
    """The text in one line, at most `limit` characters, composed (NFC).

    Control characters and separators become blanks; whatever has no shape of its own is left out:
    directions, zero widths, tags, private and unassigned characters.
    """
    shown = unicodedata.normalize("NFC", _INVISIBLE.sub("", text[: limit * 8]))
    seen = "".join(_seen(c, shown, at) for at, c in enumerate(shown))
    return _BLANKS.sub(" ", seen).strip()[:limit].rstrip()


def _seen(character: str, text: str, at: int) -> str:
    if character in _JOINERS:
        around = text[at - 1 : at] + text[at + 1 : at + 2]
        return character if len(around) == 2 and not around.isascii() else ""
    category = unicodedata.category(character)
    if category == "Cc" or category[0] == "Z":
        return " "
    return "" if category in _GONE else character
