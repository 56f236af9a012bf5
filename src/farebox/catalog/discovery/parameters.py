"""The words by which a resource's parameters are found: what it takes, and what it gives."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from farebox.catalog.discovery.json_tree import children
from farebox.catalog.discovery.outside_text import clean_text

MAX_WORDS: Final = 4_096  # characters in all
_MAX_NAME: Final = 64
_MAX_SAID: Final = 300  # characters of one description
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_SAID: Final = ("description", "title")
_WORN: Final = frozenset({"id", "type", "format", "value", "values", "data", "input", "output"})
_SINGLE: Final = ("items", "additionalProperties")
_LISTED: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED: Final = ("queryParams", "pathParams", "body")


def read_parameters(info: Mapping[str, object], schema: Mapping[str, object]) -> str:
    """Names, titles and descriptions, each once, in the order of their weight to a reader.

    Values of examples are left out: they are what one caller sent, not what the resource is.
    """
    given = _object(info.get("input"))
    output = _object(info.get("output"))
    return _joined(
        chain(
            _said(_object(given.get("inputSchema"))),
            *(_names(given.get(part)) for part in _NAMED),
            _described(schema),
            _names(output.get("example")),
        )
    )


def _described(schema: Mapping[str, object]) -> Iterator[str]:
    """What a schema says of the parts that differ; the frame around them is everywhere the same."""
    frame = _object(schema.get("properties"))
    for outer in ("input", "output"):
        parts = _object(_object(frame.get(outer)).get("properties"))
        for name in (*_NAMED, "example"):
            yield from _said(_object(parts.get(name)))


def _said(schema: Mapping[str, object]) -> Iterator[str]:
    """Names and descriptions of a schema's properties, at every depth."""
    yield from (text for text in map(schema.get, _SAID) if isinstance(text, str))
    for name, inner in _object(schema.get("properties")).items():
        yield _split(name)
        yield from _said(_object(inner))
    for inner in _subschemas(schema):
        yield from _said(inner)


def _subschemas(schema: Mapping[str, object]) -> list[Mapping[str, object]]:
    lists = [each for member in _LISTED for each in children(schema.get(member))]
    found = [_object(each) for each in (*map(schema.get, _SINGLE), *lists)]
    return [each for each in found if each]


def _names(value: object) -> Iterator[str]:
    """Names of the members of an example, at every depth."""
    if isinstance(value, dict):
        yield from (_split(name) for name in value)
    for child in children(value):
        yield from _names(child)


def _split(name: str) -> str:
    """`maxPriceUSD` and `max_price_usd` as the words `max price USD`."""
    return " ".join(_WORD.findall(name[:_MAX_NAME]))


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _joined(texts: Iterable[str]) -> str:
    seen: dict[str, str] = {}
    length = 0
    for text in texts:
        shown = clean_text(text, limit=_MAX_SAID)
        folded = shown.lower()
        if shown and folded not in _WORN and folded not in seen:
            seen[folded] = shown
            length += len(shown) + 1
        if length > MAX_WORDS:
            break
    return " ".join(seen.values())[:MAX_WORDS].rstrip()
