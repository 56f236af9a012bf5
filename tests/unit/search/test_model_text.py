"""A listing as the language model reads it, alone and beside a request."""

from dataclasses import replace
from datetime import UTC, datetime

from farebox.catalog.listing import ListingType
from farebox.catalog.search_document import SearchDocument
from farebox.kernel.networks import Network
from farebox.search.model_text import passages_of, text_beside_request, text_of

TIDES = SearchDocument(
    listing_id=1,
    network=Network.TESTNET,
    type=ListingType.MCP,
    service_name="Tide Table",
    tags=("tides", "ocean"),
    tool_name="get_tideTimes",
    description="High and low water.  Times and heights for 4,000 harbours.",
    parameters="harbour, days",
    url="https://tides.example",
    updated_at=datetime(2026, 11, 21, tzinfo=UTC),
    payers=1,
)


def test_alone_it_is_read_as_a_whole_and_sentence_by_sentence() -> None:
    assert passages_of(text_of(TIDES)) == [
        "High and low water. Times and heights for 4,000 harbours.. tides, ocean",
        "tides, ocean. get tide Times. Tide Table",
        "High and low water.",
        "Times and heights for 4,000 harbours.",
    ]


def test_beside_a_request_it_is_read_once_with_what_names_it_first() -> None:
    assert text_beside_request(TIDES) == (
        "tides, ocean. get tide Times. Tide Table. "
        "High and low water. Times and heights for 4,000 harbours.. harbour, days"
    )


def test_what_is_not_there_leaves_no_gap() -> None:
    bare = replace(TIDES, tags=(), tool_name="", service_name="", parameters="")
    assert text_beside_request(bare) == "High and low water. Times and heights for 4,000 harbours."
    assert text_beside_request(replace(bare, description="")) == ""


def test_compatibility_forms_are_read_as_their_plain_forms() -> None:
    wide = replace(
        TIDES, description="Ｈｉｇｈ and low water.  Times and heights for ４,０００ harbours．"
    )
    assert text_of(wide) == text_of(TIDES)
    assert text_of(replace(TIDES, description="ﬁne")) != text_of(replace(TIDES, description="ne"))
