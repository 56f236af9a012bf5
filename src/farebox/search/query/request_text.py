"""What a request asks for, without the words it asks with: they pull its meaning elsewhere."""

import re
from collections.abc import Mapping
from typing import Final

from farebox.search.plain import plain_text

_ASKED: Final = re.compile(
    r"""
    ^\W*(?:(?:please|hi|hello|hey)\W+)*
    (?:(?:i|we|my\s+agent|our\s+team)\s+(?:need|want|would\s+like|am\s+looking\s+for|are\s+looking\s+for)
      |i'm\s+looking\s+for|looking\s+for|find|show|get|give
      |is\s+there|are\s+there|do\s+you\s+have|which|what)\b
    (?:\s+me\b|\s+us\b)?
    (?:\s+(?:an|a|the|some|any)\b)?\s*
    """,
    re.IGNORECASE | re.VERBOSE,
)
# what is listed at all says nothing of what is wanted
_LISTED: Final = frozenset(
    ("mcp", "x402", "api", "apis", "service", "services", "endpoint", "endpoints", "tool", "tools")
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_JOINT: Final = re.compile(r"^(?:that|which|to|for|with|of)\s+", re.IGNORECASE)


def asked_for(text: str) -> str:
    """The request without its first words and without the names of what is listed here.

    The text as it is when nothing else is in it.
    """
    rest = _ASKED.sub("", text, count=1)
    kept = " ".join(word for word in rest.split() if word.strip(",.:;?!()").lower() not in _LISTED)
    return _JOINT.sub("", kept) or text


def with_words_put_right(text: str, put_right: Mapping[str, str]) -> str:
    """The text with other spellings of some of its words, known by their plain letters."""

    def spelt(found: re.Match[str]) -> str:
        return put_right.get(plain_text(found[0]).strip(), found[0])

    return _WORD.sub(spelt, text) if put_right else text
