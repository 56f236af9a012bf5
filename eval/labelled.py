"""The labelled set: listings as strangers publish them, queries, and what a fair judge would grade.

One JSON object a line, a file a topic. The half a query belongs to follows from its id alone, so
that no change elsewhere moves it: one half is there to tune by, the other is only measured.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

DATA: Final = Path(__file__).parent / "data"
FOREIGN: Final = DATA / "foreign"
BEST: Final = 3  # of the grades, from 1 on: exactly what is asked


class Kind(StrEnum):
    """How a query asks."""

    KEYWORD = "keyword"
    SENTENCE = "sentence"
    TYPO = "typo"
    SYNONYM = "synonym"
    MULTI = "multi"
    MCP = "mcp"
    OPERATORS = "operators"
    OBLIQUE = "oblique"  # never names what is wanted; measured apart
    NONE = "none"  # nothing in the set fits


class Half(StrEnum):
    """What a query is used for."""

    TUNING = "tuning"
    LOCKED = "locked"


class Listing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One listing, as its seller describes it."""

    id: str
    url: str
    type: str
    network: str
    amount: str
    method: str | None = None
    tool: str | None = None
    service_name: str | None = None
    tags: tuple[str, ...] = ()
    description: str | None = None
    params: Mapping[str, str] = {}
    output: object = None

    @property
    def host(self) -> str:
        """Whose it is: one recipient a host."""
        return self.url.split("/")[2]


class _QueryLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    kind: Kind
    query: str
    relevant: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Query:
    """One query; grades by listing id, empty when nothing fits."""

    id: str
    kind: Kind
    text: str
    grades: Mapping[str, int]
    half: Half


@dataclass(frozen=True, slots=True)
class Labelled:
    """Listings and the queries asked of them."""

    listings: tuple[Listing, ...]
    queries: tuple[Query, ...]


def read_labelled(folder: Path = DATA) -> Labelled:
    """The set under a folder.

    Raises:
        ValueError: a line is not what it should be.
    """
    if (folder / "listings").is_dir():
        listing_files, query_files = (
            sorted((folder / each).glob("*.jsonl")) for each in ("listings", "queries")
        )
    else:
        listing_files, query_files = [folder / "listings.jsonl"], [folder / "queries.jsonl"]
    listings = tuple(msgspec.json.decode(line, type=Listing) for line in _lines(listing_files))
    lines = [msgspec.json.decode(line, type=_QueryLine) for line in _lines(query_files)]
    return Labelled(listings, tuple(_halved(lines)))


def _lines(files: Sequence[Path]) -> list[str]:
    return [line for file in files for line in file.read_text().splitlines() if line.strip()]


def _halved(lines: Sequence[_QueryLine]) -> list[Query]:
    """Each query with its half, from the digest of its id."""
    return [
        Query(each.id, each.kind, each.query, each.relevant, half_of(each.id)) for each in lines
    ]


def half_of(query_id: str) -> Half:
    """Which half a query belongs to."""
    return Half.LOCKED if hashlib.sha256(query_id.encode()).digest()[0] % 2 else Half.TUNING
