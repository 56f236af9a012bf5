"""A listing as the language model reads it: as a whole, and from several sides.

One reading of everything blurs what a listing with many abilities can do; short texts read one by
one and taken together keep it. Measured in docs/decisions/0020.
"""

import re
from collections.abc import Sequence
from typing import Final

from farebox.catalog.search_document import SearchDocument

Sides = tuple[tuple[str, ...], ...]  # each side's texts count as one, and all sides the same

_LONGEST: Final = 1_200  # characters of one reading; the model takes about as many
_MOST: Final = 8  # texts of one side
_SIDE: Final = "\n"
_TEXT: Final = "\t"
_CLAUSE: Final = re.compile(r"[.;:!?]\s|, (?=\w+ \w+ \w+)")


def text_of(document: SearchDocument) -> str:
    """The sides of a listing as one text, as it waits to be read."""
    tool = document.tool_name.replace("_", " ")
    name, description, tags = document.service_name, document.description, document.tags
    whole = (description, ", ".join(tags), tool, name)
    more = (name, tool, description, ", ".join(tags), document.parameters)
    sides = (
        (_joined(whole),),
        (_joined(more),),
        _CLAUSE.split(description),
        (*tags, tool),
    )
    return _SIDE.join(_TEXT.join(_some(side)) for side in sides)


def sides_of(text: str) -> Sides:
    """The sides in such a text; at least one, if only of nothing."""
    sides = (tuple(part for part in side.split(_TEXT) if part) for side in text.split(_SIDE))
    return tuple(side for side in sides if side) or (("",),)


def _joined(parts: Sequence[str]) -> str:
    return ". ".join(part.strip() for part in parts if part.strip())


def _some(texts: Sequence[str]) -> list[str]:
    plain = (" ".join(text.replace("\0", " ").split())[:_LONGEST] for text in texts)
    return list(dict.fromkeys(text for text in plain if text))[:_MOST]
