"""When a listing's document becomes a new version, and what is searched of it."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.catalog.listing import ListingType
from farebox.catalog.search_document import SearchDocument
from farebox.search.plain import GAP, plain_text

TOUCH: Final = timedelta(minutes=1)  # an update this much newer is a change of the order
_MAX_TEXT: Final = {"name": 200, "label": 200, "description": 4000, "parameters": 8000, "url": 600}
_NO_WORDS: Final = frozenset({"https", "http", "www", "com", "net", "org", "io", "v1", "v2", "v3"})


@dataclass(frozen=True, slots=True)
class Fields:
    """The searched text by weight, each as plain words."""

    name: str  # A
    labels: str  # B: tags, tool name, and `mcp` for a tool
    description: str  # C
    parameters: str  # D: with the words of the address

    @property
    def digest(self) -> bytes:
        """128 bits that differ when the text does."""
        text = "\n".join((self.name, self.labels, self.description, self.parameters))
        return hashlib.sha256(text.encode()).digest()[:16]


@dataclass(frozen=True, slots=True)
class Standing:
    """What a version that lives says of its listing."""

    digest: bytes
    updated_at: datetime
    payers: int


def fields_of(document: SearchDocument) -> Fields:
    """The document's text as it is searched, each field bounded."""
    kind = document.type.value if document.type is ListingType.MCP else ""
    labels = (*document.tags, document.tool_name, kind)
    address = " ".join(
        word for word in plain_text(document.url[: _MAX_TEXT["url"]]).split() if _says(word)
    )
    parameters = plain_text(document.parameters[: _MAX_TEXT["parameters"]])
    return Fields(
        name=plain_text(document.service_name[: _MAX_TEXT["name"]]),
        labels=f" {GAP} ".join(
            plain_text(label[: _MAX_TEXT["label"]]) for label in labels if label
        ),
        description=plain_text(document.description[: _MAX_TEXT["description"]]),
        parameters=f"{parameters} {GAP} {address}",
    )


def _says(word: str) -> bool:
    return word not in _NO_WORDS and not word.isdigit()


def payer_class(payers: int) -> int:
    """Distinct payers on a scale where each step is twice the last: 0, 1, 2-3, 4-7, …"""
    return max(payers, 0).bit_length()


def is_new_version(old: Standing, new: Standing) -> bool:
    """Whether the order of results can tell the two apart."""
    return (
        old.digest != new.digest
        or payer_class(old.payers) != payer_class(new.payers)
        or abs(new.updated_at - old.updated_at) > TOUCH
    )
