"""The words by which a resource's parameters are found: what it takes, and what it gives."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from farebox.catalog.json_tree import children
from farebox.catalog.outside_text import clean_text

MAX_WORDS: Final = 4_096  # characters in all
_MAX_NAME: Final = 64
_MAX_SAID: Final = 300  # characters of one description
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_SAID: Final = ("description", "title")
_WORN: Final = frozenset({"id", "type", "format", "value", "values", "data", "input", "output"})
_NAMED: Final = ("queryParams", "pathParams", "body")


def read_parameters(info: Mapping[str, object], schema: Mapping[str, object]) -> str:
    """Names, titles and descriptions, each once, in the order of their weight to a reader.

    Values of examples are left out: they are what one caller sent, not what the resource is.
    """
    given = _object(info.get("input"))
    output = _object(info.get("output"))
    texts = [
        *_said(_object(given.get("inputSchema"))),
        *(text for part in _NAMED for text in _names(given.get(part))),
        *_said(_input_schema(schema)),
        *_names(output.get("example")),
    ]
    return _joined(texts)


def _input_schema(schema: Mapping[str, object]) -> Mapping[str, object]:
    """What a schema says of input and output; the frame around them says the same everywhere."""
    return {
        "properties": {
            f"{outer}.{name}": inner
            for outer in ("input", "output")
            for name, inner in _object(
                _object(_object(schema.get("properties")).get(outer)).get("properties")
            ).items()
            if name in (*_NAMED, "example")
        }
    }


def _said(schema: Mapping[str, object]) -> Iterator[str]:
    """Names and descriptions of a schema's properties, at every depth."""
    if not schema:
        return
    for said in _SAID:
        text = schema.get(said)
        if isinstance(text, str):
            yield text[:_MAX_SAID]
    for name, inner in _object(schema.get("properties")).items():
        if "." not in name:
            yield _split(name)
        yield from _said(_object(inner))
    for member in ("items", "additionalProperties"):
        yield from _said(_object(schema.get(member)))
    for member in ("allOf", "anyOf", "oneOf", "prefixItems"):
        for inner in children(schema.get(member)):
            yield from _said(_object(inner))


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


def _joined(texts: list[str]) -> str:
    seen: dict[str, str] = {}
    for text in texts:
        shown = clean_text(text, limit=_MAX_SAID)
        if shown and shown.lower() not in _WORN:
            seen.setdefault(shown.lower(), shown)
    return clean_text(" ".join(seen.values()), limit=MAX_WORDS)
