"""Extract search words from a resource's parameters: its input and its output."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from farebox.catalog.discovery.json_tree import children
from farebox.catalog.discovery.outside_text import clean_text

MAX_WORDS: Final = 4_096  # characters in all
_MAX_NAME: Final = 64
_MAX_TEXT: Final = 300  # characters of one description
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_TEXTS: Final = ("description", "title")
_STOP_WORDS: Final = frozenset(
    {"id", "type", "format", "value", "values", "data", "input", "output"}
)
_SUBSCHEMA: Final = ("items", "additionalProperties")
_SUBSCHEMA_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_PARAMETER_OBJECTS: Final = ("queryParams", "pathParams", "body")


def read_parameters(info: Mapping[str, object], schema: Mapping[str, object]) -> str:
    """Extract names, titles and descriptions, each once, the most important first.

    Values of examples are left out: they describe one request, not the resource.
    """
    input_info = _object(info.get("input"))
    output = _object(info.get("output"))
    return _join_distinct(
        chain(
            _schema_texts(_object(input_info.get("inputSchema"))),
            *(_member_names(input_info.get(part)) for part in _PARAMETER_OBJECTS),
            _parameter_texts(schema),
            _member_names(output.get("example")),
        )
    )


def _parameter_texts(schema: Mapping[str, object]) -> Iterator[str]:
    """Texts of the schemas of the parameter objects, without the frame that all schemas share."""
    frame = _object(schema.get("properties"))
    for outer in ("input", "output"):
        parts = _object(_object(frame.get(outer)).get("properties"))
        for name in (*_PARAMETER_OBJECTS, "example"):
            yield from _schema_texts(_object(parts.get(name)))


def _schema_texts(schema: Mapping[str, object]) -> Iterator[str]:
    """Names, titles and descriptions of a schema's properties, at every depth."""
    yield from (text for text in map(schema.get, _TEXTS) if isinstance(text, str))
    for name, inner in _object(schema.get("properties")).items():
        yield _split_words(name)
        yield from _schema_texts(_object(inner))
    for inner in _subschemas(schema):
        yield from _schema_texts(inner)


def _subschemas(schema: Mapping[str, object]) -> list[Mapping[str, object]]:
    lists = [each for member in _SUBSCHEMA_LISTS for each in children(schema.get(member))]
    schemas = [_object(each) for each in (*map(schema.get, _SUBSCHEMA), *lists)]
    return [each for each in schemas if each]


def _member_names(value: object) -> Iterator[str]:
    """Member names of an example, at every depth."""
    if isinstance(value, dict):
        yield from (_split_words(name) for name in value)
    for child in children(value):
        yield from _member_names(child)


def _split_words(name: str) -> str:
    """Split a name into words: `maxPriceUSD` becomes `max Price USD`."""
    return " ".join(_WORD.findall(name[:_MAX_NAME]))


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _join_distinct(texts: Iterable[str]) -> str:
    seen: dict[str, str] = {}
    length = 0
    for text in texts:
        cleaned = clean_text(text, limit=_MAX_TEXT)
        folded = cleaned.lower()
        if cleaned and folded not in _STOP_WORDS and folded not in seen:
            seen[folded] = cleaned
            length += len(cleaned) + 1
        if length > MAX_WORDS:
            break
    return " ".join(seen.values())[:MAX_WORDS].rstrip()
