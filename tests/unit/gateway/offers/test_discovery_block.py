"""The `bazaar` block of a wrapper: the seller's schema alone, and an example that it accepts."""

import json
from typing import Any, Final

import jsonschema_rs
import pytest
from x402.extensions.bazaar.facilitator import validate_discovery_extension
from x402.extensions.bazaar.types import parse_discovery_extension

from farebox.catalog.discovery.route_template import RouteTemplate
from farebox.gateway.offers import discovery_block
from farebox.gateway.offers.discovery_block import build_discovery_block
from farebox.gateway.wrapper import PricedRoute

Json = dict[str, Any]
TAKES_CITY: Final = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 8}, "units": {"enum": ["C", "F"]}},
    "required": ["city"],
}


def block(method: str, schema: Json | None) -> Json:
    text = "" if schema is None else json.dumps(schema)
    route = PricedRoute(method, RouteTemplate("/a"), input_schema=text)  # type: ignore[arg-type]  # one of the five
    return build_discovery_block(method, route, slug="weather", prefix="/gateway")


def is_valid(value: object, schema: Json) -> bool:
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


def input_of(built: Json) -> tuple[Json, Json]:
    """The described input, and its schema."""
    described: Json = built["schema"]["properties"]["input"]
    return built["info"]["input"], described


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("schema", [None, TAKES_CITY])
def test_query_has_an_object_schema_with_and_without_an_input(
    method: str, schema: Json | None
) -> None:
    info, described = input_of(block(method, schema))
    assert info == {"type": "http", "method": method}
    assert described["properties"]["queryParams"] == (schema or {"type": "object"})
    assert described["required"] == ["type", "method"]


def test_query_of_a_wrapper_s_own_price_has_an_object_schema() -> None:
    built = build_discovery_block("GET", None, slug="weather", prefix="/gateway")
    assert input_of(built)[1]["properties"]["queryParams"] == {"type": "object"}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_body_with_a_required_member_has_the_seller_s_schema_alone(method: str) -> None:
    built = block(method, TAKES_CITY)
    info, described = input_of(built)
    assert described["properties"]["body"] == TAKES_CITY
    assert info["body"] == {"city": "stringxx"}
    for fault in ({}, {"units": "C"}, {"city": 7}):
        assert not is_valid({"input": info | {"body": fault}}, built["schema"])
    without = {name: info[name] for name in info if name != "body"}
    assert not is_valid({"input": without}, built["schema"])
    assert is_valid({"input": info}, built["schema"])


def test_body_without_a_schema_is_any_object() -> None:
    info, described = input_of(block("POST", None))
    assert (info["body"], described["properties"]["body"]) == ({}, {"type": "object"})


EXAMPLES: Final[list[tuple[Json, object]]] = [
    (TAKES_CITY, {"city": "stringxx"}),
    ({"properties": {"year": {"type": "integer"}}}, {}),
    ({"type": "object", "required": ["a"], "properties": {"a": {"const": 7}}}, {"a": 7}),
    ({"required": ["a"], "properties": {"a": {"type": "integer", "minimum": 3}}}, {"a": 3}),
    ({"required": ["a"], "properties": {"a": {"type": "number", "maximum": -2}}}, {"a": -2}),
    ({"required": ["a"], "properties": {"a": {"type": "integer", "minimum": -5}}}, {"a": 0}),
    ({"required": ["a"], "properties": {"a": {"type": "boolean"}}}, {"a": False}),
    ({"required": ["a"], "properties": {"a": {"type": ["null", "string"]}}}, {"a": None}),
    ({"required": ["a"], "properties": {"a": {"type": "string", "maxLength": 3}}}, {"a": "str"}),
    ({"required": ["a"], "properties": {"a": {"default": "x"}}}, {"a": "x"}),
    ({"type": "array", "minItems": 2, "items": {"type": "integer"}}, [0, 0]),
    ({"allOf": [TAKES_CITY], "examples": [{"city": "Helsinki"}]}, {"city": "Helsinki"}),
]


@pytest.mark.parametrize(("schema", "example"), EXAMPLES)
def test_example_of_a_body_is_one_that_its_schema_accepts(schema: Json, example: object) -> None:
    built = block("POST", schema)
    assert built["info"]["input"]["body"] == example
    assert is_valid(example, schema)
    stock = validate_discovery_extension(parse_discovery_extension(built))
    assert stock.valid, stock.errors


NOTHING_KNOWN: Final[list[Json]] = [
    {"allOf": [TAKES_CITY]},
    {"$ref": "#/a"},
    {"type": "object", "minProperties": 1},
    {"type": "object", "required": ["a"]},
    {"type": "object", "required": "a"},
    {"type": "object", "required": ["a"], "properties": {"a": True}},
    {"required": ["a"], "properties": {"a": {"type": "string", "pattern": "^x$"}}},
    {"required": ["a"], "properties": {"a": {"type": "string", "format": "date"}}},
    {"required": ["a"], "properties": {"a": {"type": "string", "minLength": 600}}},
    {"required": ["a"], "properties": {"a": {"type": "string", "minLength": "x"}}},
    {"required": ["a"], "properties": {"a": {"type": "integer", "minimum": "x"}}},
    {"required": ["a"], "properties": {"a": {"type": "integer", "maximum": "x"}}},
    {"required": ["a"], "properties": {"a": {"type": "number", "minimum": 0.5}}},
    {"required": ["a"], "properties": {"a": {"type": "integer", "minimum": 2, "maximum": 1}}},
    {"type": "array", "minItems": 9, "items": {"type": "integer"}},
    {"type": 7},
    {"type": []},
    {"type": "nothing"},
    {"example": "x" * 600},
]


@pytest.mark.parametrize("schema", NOTHING_KNOWN, ids=str)
def test_body_whose_example_is_not_known_is_left_out_and_its_schema_stays(schema: Json) -> None:
    built = block("POST", schema)
    info, described = input_of(built)
    assert "body" not in info
    assert described["properties"]["body"] == schema
    assert described["required"] == ["type", "method", "bodyType"]


def test_deep_schema_has_no_example() -> None:
    schema: Json = {"type": "integer"}
    for _ in range(12):
        schema = {"type": "object", "required": ["a"], "properties": {"a": schema}}
    assert "body" not in block("POST", schema)["info"]["input"]


def nested(levels: int, leaf: Json, **members: object) -> Json:
    schema = leaf
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, **members}
    return schema


def nested_arrays(levels: int, leaf: Json) -> Json:
    schema = leaf
    for _ in range(levels):
        schema = {"type": "array", "minItems": 2, "items": schema}
    return schema


LONG: Final = {"const": "x" * 1_500}
WIDE: Final = {
    "type": "object",
    "required": [f"n{number}" for number in range(40)],
    "properties": {f"n{number}": {"type": "integer"} for number in range(40)},
}
REPEATED: Final[dict[str, Json]] = {
    "names at each level": nested(6, {"type": "integer"}, required=["a"] * 40),
    "names that are no text": nested(6, {"type": "integer"}, required=[["a"], {"a": 1}, "a"] * 9),
    "names of a wide object": {
        "type": "object",
        "required": [f"n{number % 90}" for number in range(200)],
        "properties": {f"n{number}": {} for number in range(90)},
    },
    "items at each level": nested_arrays(6, {"type": "integer"}),
    "items of objects": nested_arrays(5, nested(1, {"type": "integer"}, required=["a"] * 300)),
    "items of wide objects": nested_arrays(5, WIDE),
    "items of long texts": nested_arrays(6, {"type": "string", "minLength": 512}),
    "items with a long const": nested_arrays(6, LONG),
    "items with a long default": nested_arrays(6, {"default": "x" * 1_500}),
    "items with long examples": nested_arrays(6, {"examples": ["x" * 1_500]}),
    "items with a large enum": nested_arrays(6, {"enum": list(range(400))}),
    "very many items": {"type": "array", "minItems": 10**9, "items": {"type": "integer"}},
    "very many items inside": nested(
        3, {"type": "array", "minItems": 10**9, "items": {}}, required=["a"]
    ),
    "a reference to itself": {"$ref": "#"},
    "references in a circle": nested(1, {"$ref": "#"}, required=["a"] * 300),
    "all of itself": {"allOf": [{"$ref": "#"}] * 90},
    "one of many": nested(1, {"anyOf": [{"type": "integer"}] * 70}, required=["a"]),
}


@pytest.mark.parametrize("schema", REPEATED.values(), ids=REPEATED)
def test_example_is_derived_in_a_bounded_number_of_steps(
    schema: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(json.dumps(schema, separators=(",", ":"))) <= 2_048
    visited = 0
    derive = discovery_block._example_of

    def counted(*arguments: Any) -> object:
        nonlocal visited
        visited += 1
        assert visited <= 513  # no example has so many values
        return derive(*arguments)

    monkeypatch.setattr(discovery_block, "_example_of", counted)
    discovery_block._derive_body.cache_clear()
    built = block("POST", schema)
    assert visited
    body = built["info"]["input"].get("body")
    assert len(json.dumps(body, separators=(",", ":"))) <= 512


def test_name_that_is_required_twice_is_visited_once(monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[object] = []
    derive = discovery_block._example_of

    def counted(schema: object, *arguments: Any) -> object:
        visited.append(schema)
        return derive(schema, *arguments)

    monkeypatch.setattr(discovery_block, "_example_of", counted)
    discovery_block._derive_body.cache_clear()
    built = block("POST", nested(6, {"type": "integer"}, required=["a"] * 9))
    assert built["info"]["input"]["body"] == {"a": {"a": {"a": {"a": {"a": {"a": 0}}}}}}
    assert len(visited) == 7


@pytest.mark.parametrize(("length", "fits"), [(501, True), (502, False)])
def test_example_is_as_long_as_the_maximum_at_most(length: int, *, fits: bool) -> None:
    text = {"type": "string", "minLength": length}
    schema = {"type": "object", "required": ["long"], "properties": {"long": text}}
    body = block("POST", schema)["info"]["input"].get("body")
    assert body == ({"long": "string".ljust(length, "x")} if fits else None)
