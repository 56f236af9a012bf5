"""What is found and in which order, in a small catalog and by a large one's plan."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest

from farebox.catalog.listing import ListingFilters
from farebox.kernel.networks import Network
from farebox.search.search import QueryRequired, Search, SearchPage, SearchRequest
from farebox.search.vocabulary.alternative import Alternative, Kinship
from farebox.storage.pool import Database
from support.listings import SELLER, UPDATED, Listed, list_many
from support.manual_clock import ManualClock
from support.promises import case, promise
from support.senses import SaidMeaning, SaidMeanings, SaidWords

OTHER_SELLER: Final = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
SKY: Final = Listed(
    "https://sky.example/v1/forecast",
    "SkyCast",
    ("weather", "forecast"),
    "Hourly forecasts of wind and rain for any city.",
    "city name of the city",
)
NEWS: Final = Listed(
    "https://news.example/headlines",
    "NewsWire",
    ("news",),
    "Headlines of newspapers about weather, politics and sports.",
    "topic country",
)
MONEY: Final = Listed(
    "https://fx.example/convert",
    "FX Rates",
    ("currency", "exchange"),
    "Converts money between currencies at live exchange rates.",
    "from to amount",
    pay_to=OTHER_SELLER,
)
SPEAK: Final = Listed(
    "https://speak.example/mcp",
    "Interpreter",
    ("language",),
    "Turns a text into another language.",
    "text target",
    tool_name="translateText",
    network=Network.PUBNET,
    extensions=("bazaar", "offers"),
)
ALL: Final = (SKY, NEWS, MONEY, SPEAK)
SIZES: Final = pytest.mark.parametrize("small_below", [20_000, 1], ids=["small", "large"])


async def opened(
    database: Database,
    small_below: int = 20_000,
    items: Sequence[Listed] = ALL,
    *,
    words: SaidWords | None = None,
) -> Search:
    """A search over these listings; with statistics where the catalog is to count as large."""
    await list_many(database, items)
    async with database.connection() as db:
        await db.execute("ANALYZE search_documents")
    return Search(database, ManualClock(), words=words, small_below=small_below)


def names(page: SearchPage) -> list[str | None]:
    """The service names of a page."""
    return [hit.listing.resource.metadata.service_name for hit in page.hits]


async def found(search: Search, query: str, **filters: str) -> list[str | None]:
    """What a query finds."""
    page = await search.find(SearchRequest(query, ListingFilters(**filters)))
    assert page.cursor is None
    return names(page)


async def wrong_answers(search: Search, expected: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """What queries find where it is not what is expected: a list as the first, a set as all."""
    answers = {query: await found(search, query) for query in expected}
    return {
        query: answers[query]
        for query, names in expected.items()
        if (answers[query][: len(names)] if isinstance(names, list) else set(answers[query]))
        != names
    }


@SIZES
async def test_words_find_what_has_them(database: Database, small_below: int) -> None:
    """What a sentence quotes and nobody lists is an example; what nothing fits finds nothing."""
    expected: dict[str, Collection[str]] = {
        "weather": ["SkyCast", "NewsWire"],
        "forecasting winds": ["SkyCast"],
        "skycast": ["SkyCast"],
        "translate text": ["Interpreter"],
        "translateText": ["Interpreter"],
        "find me a currency exchange API": ["FX Rates"],
        "the weather forecast for Reykjavik": ["SkyCast"],
        'can it tell me the "weather rates" of a city': ["SkyCast"],
        'translate "the train was late" into another language': ["Interpreter"],
        'convert the "hundred florins" of my grandmother at live exchange rates': ["FX Rates"],
        **{
            each: set[str]()
            for each in ("unicorn grooming", "zyzzyva", "!?", "🎉", "find me something")
        },
    }
    assert await wrong_answers(await opened(database, small_below), expected) == {}


@SIZES
@promise("search:web-style-expression")
async def test_quotes_or_and_minus_are_obeyed(database: Database, small_below: int) -> None:
    """What is listed in the words that a sentence quotes is meant there too."""
    expected = {
        '"exchange rates"': {"FX Rates"},
        '"rates exchange"': set(),
        '"weather rates"': set(),
        "rain or politics": {"SkyCast", "NewsWire"},
        "weather -rain": {"NewsWire"},
        "weather -politics -rain": set(),
        'weather -"wind and rain"': {"NewsWire"},
        "-weather": set(),
        '"hourly forecasts" or headlines': {"SkyCast", "NewsWire"},
        'what is there with "hourly forecasts" in it': {"SkyCast"},
        'what is there with "hourly forecasts" of unicorns': set[str](),
    }
    assert await wrong_answers(await opened(database, small_below), expected) == {}


@promise("search:query-required")
async def test_a_blank_query_is_refused(database: Database) -> None:
    for query in ("", "  ", "\n\t"):
        with pytest.raises(QueryRequired):
            await Search(database, ManualClock()).find(SearchRequest(query))


@SIZES
@promise("search:filters")
async def test_filters_narrow_by_plain_equality(database: Database, small_below: int) -> None:
    expected: list[tuple[dict[str, str], set[str]]] = [
        ({"type": "mcp"}, {"Interpreter"}),
        ({"type": "http"}, {"SkyCast", "NewsWire", "FX Rates"}),
        ({"type": "MCP"}, set()),
        ({"network": "stellar:pubnet"}, {"Interpreter"}),
        ({"network": "eip155:8453"}, set()),
        ({"pay_to": OTHER_SELLER}, {"FX Rates"}),
        ({"pay_to": SELLER}, {"SkyCast", "NewsWire", "Interpreter"}),
        ({"pay_to": SELLER, "type": "mcp"}, {"Interpreter"}),
        ({"scheme": "exact"}, {"SkyCast", "NewsWire", "FX Rates", "Interpreter"}),
        ({"scheme": "upto"}, set()),
        ({"extension": "offers"}, {"Interpreter"}),
        (
            {"extension": "bazaar", "network": "stellar:testnet"},
            {"SkyCast", "NewsWire", "FX Rates"},
        ),
        ({"extension": "%"}, set()),
    ]
    search, query = await opened(database, small_below), "weather or currency or translate"
    answers = [(each, set(await found(search, query, **each))) for each, _ in expected]
    assert answers == expected


@case("CT-060")
@promise("entry:name-and-tags-weigh-more", "search:weighted-relevance")
@SIZES
async def test_names_weigh_more_than_descriptions_and_those_more_than_parameters(
    database: Database, small_below: int
) -> None:
    fields = [
        Listed("https://d.example/x", "Four", parameters="a tide"),
        Listed("https://c.example/x", "Three", description="Has the tide."),
        Listed("https://b.example/x", "Two", ("tide",)),
        Listed("https://a.example/x", "Tide"),
    ]
    search = await opened(database, small_below, fields)
    assert await found(search, "tide") == ["Tide", "Two", "Three", "Four"]


@promise("search:ties-by-freshness")
@SIZES
async def test_equals_stand_by_freshness_then_payers_then_time_then_id(
    database: Database, small_below: int
) -> None:
    same = Listed("", description="Tides.")
    items = [
        replace(same, url="https://e.example", name="old", updated_at=UPDATED - timedelta(90)),
        replace(same, url="https://b.example", name="many", payers=9),
        replace(same, url="https://c.example", name="few", payers=2),
        replace(same, url="https://d.example", name="fewer hours", updated_at=UPDATED + _HOUR),
        replace(same, url="https://f.example", name="none first"),
        replace(same, url="https://g.example", name="none second"),
    ]
    search = await opened(database, small_below, items)
    assert await found(search, "tides") == [
        "many",
        "few",
        "fewer hours",
        "none first",
        "none second",
        "old",
    ]


_HOUR: Final = timedelta(hours=1)


@promise("search:deterministic")
@SIZES
async def test_the_same_search_gives_the_same_order(database: Database, small_below: int) -> None:
    same = [Listed(f"https://{n}.example", f"n{n}", description="Tides.") for n in range(30)]
    search = await opened(database, small_below, same)
    pages = [await search.find(SearchRequest("tides", limit=30)) for _ in range(3)]
    assert names(pages[0]) == names(pages[1]) == names(pages[2]) == [f"n{n}" for n in range(30)]


@SIZES
async def test_a_meaning_finds_what_no_word_does_and_obeys_minus(
    database: Database, small_below: int
) -> None:
    ids = await list_many(database, ALL)
    async with database.connection() as db:
        await db.execute("ANALYZE search_documents")
    likeness = {ids[0]: 600, ids[1]: 120}
    meaning = SaidMeaning()
    search = Search(
        database,
        ManualClock(),
        meaning=meaning,
        meanings=SaidMeanings({"umbrella": likeness, "umbrella needed": likeness}),
        small_below=small_below,
    )
    assert await found(search, "umbrella") == ["SkyCast"]
    assert await found(search, "umbrella needed -rain") == []
    assert await found(search, "umbrella", network="stellar:pubnet") == []
    assert await found(search, '"umbrella"') == []
    assert meaning.asked == ["umbrella", "umbrella needed", "umbrella"]


@SIZES
async def test_other_words_stand_in_for_one_that_finds_nothing(
    database: Database, small_below: int
) -> None:
    others = {
        "wether": [Alternative("weather", 90, Kinship.TYPO)],
        "cash": [Alternative("money", 80, Kinship.SYNONYM)],
    }
    search = await opened(database, small_below, words=SaidWords(others))
    assert (await found(search, "wether forecast"))[0] == "SkyCast"
    assert await found(search, "cash") == ["FX Rates"]
    assert await found(search, '"cash"') == []


@SIZES
async def test_an_explanation_names_words_fields_and_stages(
    database: Database, small_below: int
) -> None:
    others = {"wether": [Alternative("weather", 90, Kinship.TYPO)]}
    search = await opened(database, small_below, words=SaidWords(others))
    page = await search.find(SearchRequest("wether forecast", is_explained=True))
    assert page.explanation is not None
    assert page.explanation.model is None
    assert [word.word for word in page.explanation.words] == ["wether", "forecast"]
    why = page.hits[0].why
    assert why is not None
    assert [(word.word, word.found, word.kinship, word.fields) for word in why.words] == [
        ("wether", "weather", Kinship.TYPO, ("tags or toolName",)),
        ("forecast", "forecast", None, ("tags or toolName", "description", "parameters or url")),
    ]
    assert why.found_by


async def test_a_removed_listing_is_found_no_more(database: Database) -> None:
    search = await opened(database)
    async with database.connection() as db:  # shown no more, though its document still lives
        await db.execute("UPDATE listings SET removed_at = now() WHERE service_name = 'SkyCast'")
    assert await found(search, "weather") == ["NewsWire"]
