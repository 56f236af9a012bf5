"""How many steps a validator may take at most: counted before it is asked to take them.

Schemas multiply: two references to a schema that holds two references double at each level, in
place and along a recursive value alike. So the ways are counted by which each subschema may come
to be held against one value at each depth of the value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from farebox.catalog.json_tree import Level, walk
from farebox.catalog.schema_bounds import patterns_of

Schema = Mapping[str, object]

_TEXT_A_STEP: Final = 64  # characters that are compared or counted
_TEXT_A_PATTERN_STEP: Final = 4  # characters that are held against a pattern
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_IN_PLACE_BY_NAME: Final = ("dependentSchemas", "dependencies")
_INSIDE: Final = (
    "items",
    "prefixItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_INSIDE_BY_NAME: Final = ("properties", "patternProperties")
_TRACKING: Final = ("unevaluatedItems", "unevaluatedProperties")


class UnknownPlace(Exception):
    """A reference names no schema in its document."""


@dataclass(frozen=True, slots=True)
class _Node:
    """One schema: what it costs by itself, and which others it brings to the same or to inner
    values.
    """

    cost: int
    patterns: int
    factor: int  # how often it has the others judged: once more for tracking what was evaluated
    in_place: tuple[Schema, ...]
    inside: tuple[Schema, ...]

    def steps(self, level: Level, below: Level) -> int:
        text = level.text + below.text  # its names stand one level below an object
        return (
            level.values * self.cost
            + text // _TEXT_A_STEP
            + self.patterns * (text // _TEXT_A_PATTERN_STEP)
        )


def count_steps(root: Schema, levels: Sequence[Level], *, limit: int) -> int | None:
    """The most steps that holding a value of these levels against the schema can take.

    None when a schema refers to itself without going into the value. Counting ends past `limit`.

    Raises:
        UnknownPlace: a reference leads to no schema.
    """
    nodes = _reachable(root)
    order = _outer_first(nodes)
    if order is None:
        return None
    ways, steps = {id(root): 1}, 0
    for level, below in pairwise([*levels, Level(0, 0)]):
        inside: dict[int, int] = {}
        for key in order:
            times = ways.get(key, 0)
            if not times:
                continue
            node = nodes[key]
            steps += times * node.steps(level, below)
            if steps > limit:
                return steps
            _spread(ways, node.in_place, times * node.factor)
            _spread(inside, node.inside, times * node.factor)
        ways = inside
    return steps


def _spread(ways: dict[int, int], schemas: Sequence[Schema], times: int) -> None:
    for schema in schemas:
        ways[id(schema)] = ways.get(id(schema), 0) + times


def _reachable(root: Schema) -> dict[int, _Node]:
    nodes: dict[int, _Node] = {}
    places = _Places(root)
    waiting = [root]
    while waiting:
        schema = waiting.pop()
        if id(schema) not in nodes:
            node = nodes[id(schema)] = _read(schema, places)
            waiting += [*node.in_place, *node.inside]
    return nodes


def _outer_first(nodes: Mapping[int, _Node]) -> list[int] | None:
    """Each schema before those it brings in place; None when there is a circle."""
    sorter = TopologicalSorter({k: [id(s) for s in n.in_place] for k, n in nodes.items()})
    try:
        return list(sorter.static_order())[::-1]
    except CycleError:
        return None


def _read(schema: Schema, places: "_Places") -> _Node:
    in_place = [*_subschemas(schema, _IN_PLACE, _IN_PLACE_BY_NAME), *places.referred(schema)]
    weighed = [v for k, v in schema.items() if k in ("enum", "const")]
    return _Node(
        cost=1
        + sum(1 + (len(v) if isinstance(v, list | dict) else 0) for v in schema.values())
        + sum(1 for value in weighed for _ in walk(value)),
        patterns=len(patterns_of(schema)),
        factor=2 if any(name in schema for name in _TRACKING) else 1,
        in_place=tuple(in_place),
        inside=tuple(_subschemas(schema, _INSIDE, _INSIDE_BY_NAME)),
    )


def _subschemas(schema: Schema, members: Sequence[str], by_name: Sequence[str]) -> Iterator[Schema]:
    for member in members:
        value = schema.get(member)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield each
    for member in by_name:
        named = schema.get(member)
        for each in named.values() if isinstance(named, dict) else ():
            if isinstance(each, dict):
                yield each


class _Places:
    """What the references of one document lead to."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._anchors = {
            node["$anchor"]: node
            for node in walk(root)
            if isinstance(node, dict) and isinstance(node.get("$anchor"), str)
        }

    def referred(self, schema: Schema) -> Iterator[Schema]:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            place = self._find(unquote(reference.removeprefix("#")))
            if isinstance(place, dict):
                yield place
            elif not isinstance(place, bool):
                raise UnknownPlace

    def _find(self, pointer: str) -> object:
        if pointer and not pointer.startswith("/"):
            return self._anchors.get(pointer)
        place: object = self._root
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(place, dict):
                place = place.get(name)
            elif isinstance(place, list) and name.isdecimal() and len(name) < 5:
                place = place[int(name)] if int(name) < len(place) else None
            else:
                return None
        return place
