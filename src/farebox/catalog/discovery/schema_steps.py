"""How many steps a validator may take at most: counted before it is asked to take them.

Schemas multiply: two references to a schema that holds two references double at each level, in
place and along a recursive value alike. So the ways are counted by which each subschema may come
to be held against one value at each depth of the value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from farebox.catalog.discovery.json_tree import Level, is_object, objects, walk
from farebox.catalog.discovery.pattern_size import pattern_size
from farebox.catalog.discovery.schema_bounds import patterns_of

Schema = Mapping[str, object]

_TEXT_A_STEP: Final = 64  # characters that are compared or counted
_PATTERN_A_STEP: Final = 2  # characters times items of the pattern they are held against
_IN_PLACE: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
_IN_PLACE_BY_NAME: Final = frozenset({"dependentSchemas", "dependencies"})
_INSIDE: Final = frozenset(
    {
        "items",
        "prefixItems",
        "additionalProperties",
        "contains",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_INSIDE_BY_NAME: Final = frozenset({"properties", "patternProperties"})
_TRACKING: Final = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_WEIGHED: Final = frozenset({"enum", "const"})


class UnknownPlace(Exception):
    """A reference names no schema in its document."""


@dataclass(slots=True)
class _Node:
    """One schema: what it costs by itself, and which others it brings to bear."""

    cost: int = 1  # steps for each value
    pattern_size: int = 0
    factor: int = 1  # how often it has the others judged
    in_place: list[Schema] = field(default_factory=list)  # against the same value
    inside: list[Schema] = field(default_factory=list)  # against the values inside

    def steps(self, level: Level, below: Level) -> int:
        text = level.text + below.text  # its names stand one level below an object
        patterns = self.pattern_size * text // _PATTERN_A_STEP
        return level.values * self.cost + text // _TEXT_A_STEP + patterns


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
    node = _Node(pattern_size=sum(map(pattern_size, patterns_of(schema))))
    for name, value in schema.items():
        node.cost += 1 + (len(value) if isinstance(value, list | dict) else 0)
        if name in _IN_PLACE:
            node.in_place += _listed(value)
        elif name in _INSIDE:
            node.inside += _listed(value)
        elif name in _IN_PLACE_BY_NAME:
            node.in_place += _named(value)
        elif name in _INSIDE_BY_NAME:
            node.inside += _named(value)
        elif name in _WEIGHED:
            node.cost += sum(1 for _ in walk(value))
        node.factor += name in _TRACKING
    node.in_place += places.referred(schema)
    return node


def _listed(value: object) -> list[Schema]:
    return [each for each in (value if isinstance(value, list) else [value]) if is_object(each)]


def _named(value: object) -> list[Schema]:
    return [each for each in value.values() if is_object(each)] if is_object(value) else []


class _Places:
    """What the references of one document lead to."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._anchors = {str(node["$anchor"]): node for node in objects(root) if "$anchor" in node}

    def referred(self, schema: Schema) -> Iterator[Schema]:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            place = self._find(unquote(reference.removeprefix("#")))
            if is_object(place):
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
