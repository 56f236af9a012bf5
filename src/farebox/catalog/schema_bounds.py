"""What a schema from outside may ask for: nothing beyond itself, and few steps of the validator."""

from collections.abc import Mapping
from typing import Final

from farebox.catalog.drop_reason import Dropped, DropReason
from farebox.catalog.json_tree import walk

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_PATTERNS: Final = 32
MAX_PATTERN: Final = 256  # characters
_MAX_TRACKING: Final = 2  # schemas with unevaluated*: each doubles the steps below it

_NEVER: Final = frozenset(
    {"$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"}
)
_TRACKING: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})


def judge_references(schema: Mapping[str, object]) -> Dropped | None:
    """Why a validator must not see the schema; None when it speaks of nothing but itself.

    Every place of the document is looked at, whether or not a validator would read it as a
    schema: what is an example to one reader is a reference to the next.
    """
    for node in walk(schema):
        if not isinstance(node, dict):
            continue
        for name, value in node.items():
            fault = _judge_member(name, value)
            if fault is not None:
                return Dropped(fault, f"at {name}")
    return None


def judge_patterns(schema: Mapping[str, object]) -> Dropped | None:
    """Whether the patterns are few and short enough to compile."""
    patterns: list[str] = []
    tracking = 0
    for node in walk(schema):
        if isinstance(node, dict):
            patterns += _patterns(node)
            tracking += len(_TRACKING & node.keys())
    if len(patterns) > MAX_PATTERNS:
        return Dropped(DropReason.SCHEMA_PATTERN_REFUSED, f"more than {MAX_PATTERNS}")
    if any(len(pattern) > MAX_PATTERN for pattern in patterns):
        return Dropped(DropReason.SCHEMA_PATTERN_REFUSED, f"longer than {MAX_PATTERN} characters")
    if tracking > _MAX_TRACKING:
        return Dropped(DropReason.SCHEMA_TOO_COSTLY, "unevaluatedProperties or unevaluatedItems")
    return None


def patterns_of(node: Mapping[str, object]) -> list[str]:
    """The regular expressions that one schema, its subschemas apart, holds text against."""
    return _patterns(node)


def _judge_member(name: str, value: object) -> DropReason | None:
    if name in _NEVER:
        return DropReason.SCHEMA_REFERENCE_REFUSED
    if name in ("$ref", "$id") and not (isinstance(value, str) and value.startswith("#")):
        return DropReason.SCHEMA_REFERENCE_REFUSED
    if name == "$schema" and isinstance(value, str) and value.removesuffix("#") != DRAFT:
        return DropReason.SCHEMA_DRAFT_UNSUPPORTED
    return None


def _patterns(node: Mapping[str, object]) -> list[str]:
    pattern, properties = node.get("pattern"), node.get("patternProperties")
    found = [pattern] if isinstance(pattern, str) else []
    return found + (list(properties) if isinstance(properties, dict) else [])
