"""Listings with requests they answer, and requests that are near and not answered by them.

The language model learns from these. They were written apart from the labelled set, and none of
its queries stands among them.
"""

from pathlib import Path
from typing import Final

import msgspec

from farebox.catalog.listing import ListingType
from farebox.catalog.search_document import SearchDocument
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.search.model_text import passages_of, text_beside_request, text_of

FOLDER: Final = Path(__file__).parent / "data" / "training"


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One listing and what is asked around it."""

    type: ListingType
    name: str
    tags: tuple[str, ...]
    description: str
    parameters: str
    url: str
    fits: tuple[str, ...]
    near: tuple[str, ...]
    tool: str = ""

    @property
    def passages(self) -> list[str]:
        """The listing as the language model reads it."""
        return passages_of(text_of(self._document()))

    @property
    def beside_request(self) -> str:
        """The listing as the model reads it together with a request."""
        return text_beside_request(self._document())

    def _document(self) -> SearchDocument:
        return SearchDocument(
            listing_id=1,
            network=Network.PUBNET,
            type=self.type,
            service_name=self.name,
            tags=self.tags,
            tool_name=self.tool,
            description=self.description,
            parameters=self.parameters,
            url=self.url,
            updated_at=SystemClock().now(),
            payers=1,
        )


def read_examples(folder: Path = FOLDER) -> list[Example]:
    """All of them, in the order of the files.

    Raises:
        ValueError: a line is not what it should be.
    """
    files = sorted(folder.glob("*.jsonl"))
    lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]
    return [msgspec.json.decode(line, type=Example) for line in lines]


def as_asked(request: str) -> str:
    """A request as the search hands it to the model."""
    return " ".join(request.casefold().split())
