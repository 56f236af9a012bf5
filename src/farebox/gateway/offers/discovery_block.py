"""The `bazaar` block of a wrapper's offer: how to call the resource (x402 extension `bazaar`)."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from farebox.catalog.discovery.info import BODY_METHODS
from farebox.catalog.discovery.route_template import RouteTemplate
from farebox.gateway.wrapper import PricedRoute

Json = dict[str, Any]
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_ANY_OBJECT: Final[Json] = {"type": "object"}
_ROOT: Final = RouteTemplate("/")
_MAX_EXAMPLE_BYTES: Final = 512
_MAX_DEPTH: Final = 6
_MAX_ITEMS: Final = 2  # of an array in an example
_ANNOTATIONS: Final = frozenset({"$schema", "$comment", "title", "description", "type"})


def build_discovery_block(
    method: str, route: PricedRoute | None, *, slug: str, prefix: str
) -> Json:
    """Build the block of one method of a wrapper, or of one of its routes.

    Args:
        method: the method of the described request.
        route: the route with its schemas; None for the wrapper's own price.
        slug: the wrapper's slug.
        prefix: the path of the gateway's public URL, as in `/gateway`.
    """
    schema_in = _decode(route.input_schema) if route is not None else {}
    schema_out = _decode(route.output_schema) if route is not None else {}
    info: Json = {"input": {"type": "http", "method": method}}
    input_schema: Json = {"type": {"const": "http"}, "method": {"const": method}}
    if method in BODY_METHODS:
        info["input"]["bodyType"] = "json"
        input_schema["bodyType"] = {"const": "json"}
        input_schema["body"] = schema_in or _ANY_OBJECT
        body = _derive_body(route.input_schema) if schema_in and route is not None else b"{}"
        if body is not None:
            info["input"]["body"] = msgspec.json.decode(body)
    else:
        input_schema["queryParams"] = schema_in or _ANY_OBJECT
    # what the input has, it must have: a copy without one of them is another request
    described = {"type": "object", "properties": input_schema, "required": list(info["input"])}
    properties: Json = {"input": described}
    if schema_out:
        info["output"] = {"type": "json"}
        properties["output"] = {"type": "object", "properties": {"example": schema_out}}
    block: Json = {
        "info": info,
        "schema": {
            "$schema": _DRAFT,
            "type": "object",
            "properties": properties,
            "required": ["input"],
        },
    }
    if route is not None and route.template != _ROOT:
        block["routeTemplate"] = f"{prefix}/{slug}{route.template.path}"
    return block


@lru_cache(maxsize=1024)
def _derive_body(schema: str) -> bytes | None:
    """Derive a short body that the schema accepts; None where none can be told without trying."""
    try:
        body = msgspec.json.encode(_example_of(_decode(schema), _Room()))
    except _NoExample:
        return None
    return body if len(body) <= _MAX_EXAMPLE_BYTES else None


class _NoExample(Exception):
    """No value is known that the schema accepts."""


class _Room:
    """The bytes that are left of an example while it is derived.

    Every value takes at least one: a schema of a seller is never visited more often than an example
    has bytes, however its parts are repeated.
    """

    def __init__(self) -> None:
        self._left = _MAX_EXAMPLE_BYTES

    def take(self, count: int) -> None:
        """Take bytes that the example has in any case.

        Raises:
            _NoExample: it is too long.
        """
        self._left -= count
        if self._left < 0:
            raise _NoExample


def _example_of(schema: object, room: _Room, depth: int = 0) -> object:
    """Return a value of a schema: its author's own one, or one of its type with what is required.

    Raises:
        _NoExample: it has a keyword that is not read here, is nested deeply, or its value is long.
    """
    room.take(1)
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        raise _NoExample
    given = [schema[keyword] for keyword in ("const", "example", "default") if keyword in schema]
    several = [schema.get(keyword) for keyword in ("examples", "enum")]
    given += [values[0] for values in several if isinstance(values, list) and values]
    if given:
        room.take(len(msgspec.json.encode(given[0])) - 1)
        return given[0]
    kind = schema.get("type", "object" if "properties" in schema or depth == 0 else None)
    kind = kind[0] if isinstance(kind, list) and kind else kind
    known = _EXAMPLES.get(kind) if isinstance(kind, str) else None
    if known is None or schema.keys() - known[0] - _ANNOTATIONS:
        raise _NoExample
    return known[1](schema, room, depth)


def _example_object(schema: Json, room: _Room, depth: int) -> Json:
    required, properties = schema.get("required", []), schema.get("properties", {})
    if not isinstance(required, list) or not isinstance(properties, dict):
        raise _NoExample
    example: Json = {}
    for name in required:
        if isinstance(name, str) and name not in example:
            room.take(len(name) + 2)
            example[name] = _example_of(properties.get(name), room, depth + 1)
    return example


def _example_array(schema: Json, room: _Room, depth: int) -> list[object]:
    count = schema.get("minItems", 0)
    if not isinstance(count, int) or count > _MAX_ITEMS:
        raise _NoExample
    return [_example_of(schema.get("items"), room, depth + 1) for _ in range(count)]


def _example_text(schema: Json, room: _Room, _depth: int) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength", _MAX_EXAMPLE_BYTES)
    if not isinstance(least, int) or not isinstance(most, int) or least > _MAX_EXAMPLE_BYTES:
        raise _NoExample
    text = "string".ljust(least, "x")[:most]
    room.take(len(text))
    return text


def _example_number(schema: Json, _room: _Room, _depth: int) -> int:
    least, most = schema.get("minimum"), schema.get("maximum")
    if not isinstance(least, int | None) or not isinstance(most, int | None):
        raise _NoExample
    if least is not None and most is not None and least > most:
        raise _NoExample
    number = 0 if least is None else max(0, least)
    return number if most is None else min(number, most)


# of each type: the keywords that its example obeys, and the example
_Example: TypeAlias = Callable[[Json, _Room, int], object]
_EXAMPLES: Final[dict[str, tuple[set[str], _Example]]] = {
    "object": ({"properties", "required", "additionalProperties"}, _example_object),
    "array": ({"items", "minItems"}, _example_array),
    "string": ({"minLength", "maxLength"}, _example_text),
    "integer": ({"minimum", "maximum"}, _example_number),
    "number": ({"minimum", "maximum"}, _example_number),
    "boolean": (set(), lambda _schema, _room, _depth: False),
    "null": (set(), lambda _schema, _room, _depth: None),
}


def _decode(schema: str) -> Json:
    return msgspec.json.decode(schema, type=Json) if schema else {}
