"""Limits of an untrusted JSON Schema: no external references, and few and small patterns."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from farebox.catalog.discovery.drop_reason import Dropped, DropReason

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_PATTERNS: Final = 32
MAX_PATTERN: Final = 256  # characters
MAX_SIZE: Final = 10_000  # of one pattern, at which counting stops
MAX_PATTERN_SIZE: Final = 2_000  # items of all patterns together, as counted by `pattern_size`
_MAX_TRACKING: Final = 2  # schemas with unevaluated*: each has its siblings validated twice

_REFUSED: Final = frozenset(
    {"$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"}
)
_TRACKING: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_CATEGORY: Final = 60  # items: a Unicode category is hundreds of ranges
_TOKEN: Final = re.compile(
    r"(?P<count>\{(?P<least>[0-9]+)(?:,(?P<most>[0-9]*))?\})"
    r"|(?P<flags>\(\?[A-Za-z-]+[:)])|(?P<open>\()|(?P<close>\))|(?P<quantifier>[*+?])"
    r"|(?P<item>\\[pPxuU]\{[^}]*\}|\\p.|\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|.)",
    re.ASCII | re.DOTALL | re.IGNORECASE,
)
_NESTED: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\\[])*\[", re.DOTALL)
_WIDE_MEMBER: Final = re.compile(r"[^\x00-\x7f]|\\[xuU]")

Schema = Mapping[str, object]


def judge_document(root: Schema, objects: Iterable[Schema]) -> Dropped | None:
    """Check a schema's limits before a validator sees it; None when it keeps them.

    `objects` are all JSON objects of the document, whether or not a validator would read them as
    schemas: an example to one validator is a reference to another. A nested `$schema` has no
    meaning in draft 2020-12 and is allowed: tools that generate schemas from types write it.
    """
    draft = root.get("$schema", DRAFT)
    if not isinstance(draft, str) or draft.removesuffix("#") != DRAFT:
        return Dropped(DropReason.SCHEMA_DRAFT_UNSUPPORTED)
    patterns: list[str] = []
    tracking = 0
    for each in objects:
        dropped = _judge_members(each)
        if dropped is not None:
            return dropped
        patterns += patterns_of(each)
        tracking += len(_TRACKING & each.keys())
    if tracking > _MAX_TRACKING:
        return Dropped(DropReason.SCHEMA_TOO_COSTLY, "unevaluatedProperties or unevaluatedItems")
    return _judge_patterns(patterns)


def patterns_of(schema: Schema) -> list[str]:
    """The regular expressions of one schema, without those of its subschemas."""
    pattern, properties = schema.get("pattern"), schema.get("patternProperties")
    own = [pattern] if isinstance(pattern, str) else []
    return own + (list(properties) if isinstance(properties, dict) else [])


def _judge_members(schema: Schema) -> Dropped | None:
    for name, value in schema.items():
        if not name.startswith("$"):
            continue
        is_local = isinstance(value, str) and value.startswith("#")
        if name in _REFUSED or (name in ("$ref", "$id") and not is_local):
            return Dropped(DropReason.SCHEMA_REFERENCE_REFUSED, f"at {name}")
    return None


def _judge_patterns(patterns: list[str]) -> Dropped | None:
    if len(patterns) > MAX_PATTERNS:
        return Dropped(DropReason.SCHEMA_PATTERN_REFUSED, f"more than {MAX_PATTERNS}")
    if any(len(pattern) > MAX_PATTERN for pattern in patterns):
        return Dropped(DropReason.SCHEMA_PATTERN_REFUSED, f"longer than {MAX_PATTERN} characters")
    if sum(map(pattern_size, patterns)) > MAX_PATTERN_SIZE:
        return Dropped(
            DropReason.SCHEMA_PATTERN_REFUSED,
            "repeats too much, sets flags or nests character classes",
        )
    return None


def pattern_size(pattern: str) -> int:
    """Count the items of a pattern, each as often as its repetition counts; an upper bound.

    Counting stops at `MAX_SIZE`, which is also the size of a pattern that sets flags or nests
    character classes: ECMA-262 has neither, and both change the meaning of other characters.
    """
    outer: list[int] = []  # size of the part before each open group
    size = last = 0  # of the group so far, and of its last item
    for token in _TOKEN.finditer(pattern):
        if token["open"]:
            outer.append(size)
            size = last = 0
        elif token["close"]:
            last = size + 1  # the group itself, so that an empty one repeated counts too
            size = last + (outer.pop() if outer else 0)
        elif token["count"]:
            times = max(int(token["least"]), int(token["most"] or 0), 1)
            size += last * (times - 1)
            last *= times
        elif token["quantifier"]:
            size += 1
            last += 1  # a count after it repeats the quantified item
        elif token["flags"] or _NESTED.match(token["item"]):
            return MAX_SIZE
        else:
            last = _item_size(token["item"])
            size += last
        if size > MAX_SIZE:
            return MAX_SIZE
    return min(size + sum(outer), MAX_SIZE)


def _item_size(item: str) -> int:
    if not item.startswith("["):
        return 1 + _CATEGORY * item.lower().startswith("\\p")
    return 1 + len(_WIDE_MEMBER.findall(item)) + _CATEGORY * item.lower().count("\\p")
