"""A listing as running text, for the language model.

A vector of a long text is near nothing in particular: so it is made of the whole and, as much, of
each sentence alone. Names and parameters say little in a sentence; they are kept for spellings.
"""

import re
import unicodedata
from typing import Final

from farebox.catalog.search_document import SearchDocument

_LONGEST: Final = 1_500  # characters; the model reads some 1,200
_MOST: Final = 8  # passages
_SHORTEST: Final = 15  # characters of a sentence that is read alone
_SENTENCE: Final = re.compile(r"(?<=[.;:!?])\s+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_UNREAD: Final = "\f"  # what stands behind is kept for its words


def text_of(document: SearchDocument) -> str:
    """What is read of a listing: passages, a line each, and behind them words alone."""
    labels = _labels(document)
    sentences = _SENTENCE.split(_line(document.description)[:_LONGEST])
    whole = _joined(_line(document.description), ", ".join(document.tags)) or labels
    passages = [whole[:_LONGEST], labels, *(each for each in sentences if len(each) > _SHORTEST)]
    kept = dict.fromkeys(_line(passage) for passage in passages if passage.strip())
    return "\n".join(list(kept)[:_MOST]) + _UNREAD + _line(document.parameters)[:_LONGEST]


def text_beside_request(document: SearchDocument) -> str:
    """What is read of a listing together with a request: the beginning matters most."""
    return _joined(_labels(document), _line(document.description), _line(document.parameters))


def passages_of(text: str) -> list[str]:
    """The passages of such a text; at least one, if an empty one."""
    return text.partition(_UNREAD)[0].split("\n")


def _labels(document: SearchDocument) -> str:
    tool = _HUMP.sub(" ", document.tool_name).replace("_", " ").replace("-", " ")
    return _joined(", ".join(document.tags), tool, document.service_name)


def _joined(*parts: str) -> str:
    return ". ".join(part.strip() for part in parts if part.strip())


def _line(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text.replace("\0", " ")).split())
