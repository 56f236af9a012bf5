"""The words of a resource's parameters; the values that a caller sent are omitted."""

import pytest

from farebox.catalog.discovery.parameters import MAX_WORDS, read_parameters
from support.discovery import Json, tool_info


def words(info: Json, schema: Json | None = None) -> str:
    return read_parameters(info, schema or {})


def test_parameter_names_are_split_into_words() -> None:
    query = {"cityName": "Paris", "max_price_usd": 5, "ISOCode": "FR", "x402Id": 1, "größe": 1}
    info: Json = {"input": {"queryParams": query}}
    assert words(info) == "city Name max price usd ISO Code x Id größe"


def test_example_values_are_omitted_and_their_names_kept() -> None:
    info: Json = {
        "input": {
            "body": {"apiKey": "sk_live_secret", "nested": [{"startDate": "2026-01-01"}]},
            "headers": {"authorization": "Bearer secret"},
            "pathParams": {"station": 17},
        },
        "output": {"example": {"windSpeed": 12.5, "rows": [{"gust": "strong"}]}},
    }
    assert words(info) == "station api Key nested start Date wind Speed rows gust"


def test_descriptions_are_read_from_the_schema_at_every_depth() -> None:
    body = {
        "title": "Forecast request",
        "properties": {
            "city": {"type": "string", "description": "City to look up"},
            "days": {"anyOf": [{"description": "How many days"}, {"type": "null"}]},
            "tags": {"items": {"description": "A label"}},
        },
    }
    schema: Json = {
        "properties": {
            "input": {
                "description": "never read: the frame",
                "properties": {"type": {"description": "no"}, "body": body},
            },
            "output": {"properties": {"example": {"properties": {"humidity": {}}}}},
        }
    }
    assert words({"input": {}}, schema) == (
        "Forecast request city City to look up days How many days tags A label humidity"
    )


def test_schema_of_a_tool_is_read() -> None:
    schema = {"properties": {"city": {"description": "Where"}}, "description": "Weather"}
    assert words(tool_info(inputSchema=schema)) == "Weather city Where"


def test_repeated_and_generic_names_are_omitted() -> None:
    info: Json = {
        "input": {"queryParams": {"City": 1, "city": 2, "id": 3, "type": 4}, "body": {"CITY": 1}}
    }
    assert words(info) == "City"


@pytest.mark.parametrize("many", [500, 3_000])
def test_parameter_words_are_bounded(many: int) -> None:
    info: Json = {
        "input": {
            "queryParams": {
                f"parameterNumber{chr(97 + n % 26)}{'z' * (n % 40)}{chr(97 + n // 26 % 26)}": 1
                for n in range(many)
            }
        }
    }
    found = words(info)
    assert len(found) <= MAX_WORDS
    long: Json = {"properties": {"body": {"description": "word " * 9_000}}}
    assert len(words({"input": {"inputSchema": long}})) <= MAX_WORDS


def test_members_of_another_type_are_skipped() -> None:
    schema: Json = {"properties": {"input": 7, "output": {"properties": []}}}
    odd: Json = {"input": {"inputSchema": {"description": 7, "properties": 7, "items": [1]}}}
    assert words(odd, schema) == ""
