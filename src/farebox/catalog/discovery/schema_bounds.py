"""What a schema from outside may ask for: nothing beyond itself, and little to be compiled."""

from collections.abc import Iterable, Mapping
from typing import Final

from farebox.catalog.discovery.drop_reason import Dropped, DropReason
from farebox.catalog.discovery.pattern_size import pattern_size

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_PATTERNS: Final = 32
MAX_PATTERN: Final = 256  # characters
MAX_PATTERN_SIZE: Final = 3_000  # items of all patterns together, as `pattern_size` counts
_MAX_TRACKING: Final = 2  # schemas with unevaluated*: each has what stands beside it judged twice

_NEVER: Final = frozenset(
    {"$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"}
)
_TRACKING: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})

Schema = Mapping[str, object]


def judge_document(root: Schema, objects: Iterable[Schema]) -> Dropped | None:
    """Why a validator must not see a schema with these objects in it; None when it may.

    Every object of the document is looked at, whether or not a validator would read it as a
    schema: what is an example to one reader is a reference to the next. A `$schema` inside it has
    no meaning in draft 2020-12 and is left alone: tools that make schemas of types write it.
    """
    draft = root.get("$schema", DRAFT)
    if not isinstance(draft, str) or draft.removesuffix("#") != DRAFT:
        return Dropped(DropReason.SCHEMA_DRAFT_UNSUPPORTED)
    patterns: list[str] = []
    tracking = 0
    for each in objects:
        fault = _judge_members(each)
        if fault is not None:
            return fault
        patterns += patterns_of(each)
        tracking += len(_TRACKING & each.keys())
    if tracking > _MAX_TRACKING:
        return Dropped(DropReason.SCHEMA_TOO_COSTLY, "unevaluatedProperties or unevaluatedItems")
    return _judge_patterns(patterns)


def patterns_of(schema: Schema) -> list[str]:
    """The regular expressions of one schema, those of its subschemas apart."""
    pattern, properties = schema.get("pattern"), schema.get("patternProperties")
    found = [pattern] if isinstance(pattern, str) else []
    return found + (list(properties) if isinstance(properties, dict) else [])


def _judge_members(schema: Schema) -> Dropped | None:
    for name, value in schema.items():
        if not name.startswith("$"):
            continue
        is_local = isinstance(value, str) and value.startswith("#")
        if name in _NEVER or (name in ("$ref", "$id") and not is_local):
            return Dropped(DropReason.SCHEMA_REFERENCE_REFUSED, f"at {name}")
    return None


def _judge_patterns(patterns: list[str]) -> Dropped | None:
    if len(patterns) > MAX_PATTERNS:
        return Dropped(DropReason.SCHEMA_PATTERN_REFUSED, f"more than {MAX_PATTERNS}")
    if any(len(pattern) > MAX_PATTERN for pattern in patterns):
        return Dropped(DropReason.SCHEMA_PATTERN_REFUSED, f"longer than {MAX_PATTERN} characters")
    if sum(map(pattern_size, patterns)) > MAX_PATTERN_SIZE:
        return Dropped(DropReason.SCHEMA_PATTERN_REFUSED, "repeats too much")
    return None
