"""Random discovery metadata that is expensive to validate."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

Json = dict[str, object]
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_ATOMS: Final = (
    r"\p{L}",
    r"\P{Lu}",
    r"[\p{L}\p{N}]",
    r"[^\p{Han}]",
    r"\w",
    r"\S",
    r"[a-z]",
    r".",
    r"(?i:\p{L})",
    r"(a|b|ab)",
)
_COUNTS: Final = (1, 2, 3, 5, 8, 13, 20, 30, 48, 90)
_MANY: Final = (200, 900)
_HERE: Final = "#/properties/input/properties/queryParams/$defs"


def _pattern(rng: random.Random, *, parts: int = 2) -> str:
    """Draw a pattern that compiles to a large automaton; most are near the limit."""
    texts = [str(rng.randint(0, 999))]  # unique, so that no cached compilation is used
    for _ in range(rng.randint(1, parts)):
        atom, count = rng.choice(_ATOMS), rng.choice(_MANY if rng.random() < 0.05 else _COUNTS)
        counted = f"{atom}{{{count}}}" if rng.random() < 0.7 else f"{atom}{{0,{count}}}"
        if rng.random() < 0.1:
            counted = f"({counted}){{{rng.choice((2, 3, 9))}}}"
        texts.append(counted)
    return "^" + "".join(texts) + "$"


def _properties(patterns: Sequence[str]) -> Json:
    return {f"p{turn}": {"type": "string", "pattern": each} for turn, each in enumerate(patterns)}


def _known(rng: random.Random) -> tuple[Json, Json]:
    """Passed as valid at commit 82b18cf, after 0.43 s."""
    atom, count = rng.choice(((r"\p{L}", 90), (r"\p{L}", 48), (r"\P{Lu}", 48)))
    patterns = [f"^{turn}{atom}{{{count}}}$" for turn in range(19)]
    return {"type": "object", "properties": _properties(patterns)}, {}


def _patterns(rng: random.Random) -> tuple[Json, Json]:
    patterns = [_pattern(rng) for _ in range(rng.randint(1, 6))]
    values: Json = {f"p{turn}": "7" + "é" * 40 for turn in range(len(patterns))}
    return {"type": "object", "properties": _properties(patterns)}, values


def _names(rng: random.Random) -> tuple[Json, Json]:
    rules = {_pattern(rng): {"minLength": 1} for _ in range(rng.randint(1, 4))}
    values: Json = {"k" * rng.randint(1, 60) + str(turn): "v" for turn in range(200)}
    return {"type": "object", "patternProperties": rules}, values


def _branches(rng: random.Random) -> tuple[Json, Json]:
    schema: Json = {"type": "string", "pattern": _pattern(rng)}
    for _ in range(rng.randint(1, 4)):
        word = rng.choice(("anyOf", "allOf", "oneOf"))
        schema = {word: [schema, {"type": "integer"}, {"maxLength": rng.randint(1, 99)}]}
    values: Json = {f"v{turn}": "x" * rng.randint(1, 300) for turn in range(30)}
    return {"type": "object", "additionalProperties": schema}, values


def _references(rng: random.Random) -> tuple[Json, Json]:
    depth = rng.randint(2, 24)
    rules: Json = {
        f"d{turn}": {"allOf": [{"$ref": f"{_HERE}/d{turn + 1}"}] * 2} for turn in range(depth)
    }
    rules[f"d{depth}"] = {"pattern": _pattern(rng)}
    return {"$defs": rules, "additionalProperties": {"$ref": f"{_HERE}/d0"}}, {"a": "x" * 50}


def _lists(rng: random.Random) -> tuple[Json, Json]:
    count = rng.randint(10, 300)
    rule: Json = {"uniqueItems": True, "contains": {"pattern": _pattern(rng)}}
    rule["items"] = {"enum": [f"e{turn}" for turn in range(rng.randint(10, 200))]}
    return {"properties": {"list": rule}}, {"list": [f"e{turn}" for turn in range(count)]}


_KINDS: Final[Sequence[Callable[[random.Random], tuple[Json, Json]]]] = (
    _known,
    _patterns,
    _patterns,
    _names,
    _branches,
    _references,
    _lists,
)


def _template(rng: random.Random) -> str:
    parts = (":" + "n" * rng.randint(1, 60), "%2F" * rng.randint(1, 40), "a", "%25%32%46", "..")
    return "/" + "/".join(rng.choices(parts, k=rng.randint(1, 200)))


def metadata(seed: int, turn: int) -> Mapping[str, object]:
    """Draw `resource` and `extensions` of a payment's payload for this seed and turn."""
    rng = random.Random(f"metadata {seed} {turn}")
    schema, values = _KINDS[turn % len(_KINDS)](rng)
    fixed: Json = {"type": {"const": "http"}, "method": {"enum": ["GET"]}, "queryParams": schema}
    bazaar: Json = {
        "info": {"input": {"type": "http", "method": "GET", "queryParams": values}},
        "schema": {
            "$schema": _DRAFT,
            "type": "object",
            "properties": {
                "input": {"type": "object", "properties": fixed, "required": ["type", "method"]}
            },
            "required": ["input"],
        },
    }
    if rng.random() < 0.3:
        bazaar["routeTemplate"] = _template(rng)
    resource = {"url": f"https://hostile-{seed}-{turn}.example.com/{rng.randint(0, 9)}"}
    return {"resource": resource, "extensions": {"bazaar": bazaar}}
