"""Text as plain words: the same for what is searched and for what is asked.

PostgreSQL's own parser sees hosts, paths and signed numbers in running text; it never gets any, so
that "node.js" is found by "node" and "getWeather" by "weather".
"""

import re
import unicodedata
from typing import Final

MAX_WORD: Final = 64  # characters; what is longer is no word and is cut
GAP: Final = "xgapx"  # stands between fields, so that no phrase reaches across

_ACCENTS: Final = re.compile("[\u0300-\u036f]")  # those of the Latin, Greek and Cyrillic scripts
# letters and digits; with the vowel signs of scripts that write them as marks of their own
_LETTER: Final = (
    r"[^\W_\u0591-\u05c7\u064b-\u065f\u0900-\u0eff]|[\u0591-\u05c7\u064b-\u065f\u0900-\u0eff]"
)
_RUN: Final = re.compile(rf"(?:{_LETTER})+(?:[-'’._/](?:{_LETTER})+)*")
_POSSESSIVE: Final = re.compile(r"['’]s\b", re.IGNORECASE)
_CAMEL: Final = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z]{2,}(?:[A-Z][a-z]|\b|[0-9]))|(?<=[A-Z])(?=[A-Z][a-z]{2})"
)
_BREAK: Final = re.compile(r"[-'’._/\s]+")


def fold(text: str) -> str:
    """`text` as it is compared: compatible forms as one, no accents, no case, no controls."""
    flat = unicodedata.normalize("NFKD", text.replace("\x00", " "))
    return unicodedata.normalize("NFC", _ACCENTS.sub("", flat)).casefold()


def parts_of(run: str) -> tuple[str, ...]:
    """The words one unbroken run of characters is made of: get_weather, realTime, state-of-art."""
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", run))
    pieces = _BREAK.split(_CAMEL.sub(" ", plain))
    return tuple(fold(piece)[:MAX_WORD] for piece in pieces if piece)


def joined_of(run: str, parts: tuple[str, ...]) -> str | None:
    """The parts written as one word, where people write them so (e-mail, OpenAI); else None."""
    if not 2 <= len(parts) <= 3 or any(mark in run for mark in "_./'’"):
        return None
    joined = "".join(parts)
    return joined if len(joined) <= MAX_WORD else None


def runs_of(text: str) -> list[str]:
    """The unbroken runs of letters and digits in `text`, hyphens and apostrophes inside kept."""
    plain = unicodedata.normalize("NFKC", text.replace("\x00", " "))
    return _RUN.findall(_POSSESSIVE.sub("", plain))


def plain_text(text: str) -> str:
    """`text` as words with one space between; compounds stand joined once more behind a gap."""
    words: list[str] = []
    joined: dict[str, None] = {}
    for run in runs_of(text):
        parts = parts_of(run)
        words += parts
        whole = joined_of(run, parts)
        if whole is not None:
            joined[whole] = None
    if not joined:
        return " ".join(words)
    return " ".join((*words, GAP, *joined))
