"""A listing as running text, for the language model."""

from typing import Final

from farebox.catalog.search_document import SearchDocument

_LONGEST: Final = 3_000  # characters; the model reads some 1,200


def text_of(document: SearchDocument) -> str:
    """What the language model reads of a listing, what says most first."""
    parts = (
        document.service_name,
        document.tool_name.replace("_", " "),
        document.description,
        ", ".join(document.tags),
        document.parameters,
    )
    return ". ".join(part.strip() for part in parts if part.strip())[:_LONGEST].replace("\0", " ")
