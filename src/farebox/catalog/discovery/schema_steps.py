"""Count an upper bound of a validator's steps before it runs.

References multiply: two references to a schema with two references double at each level, for one
value and along a recursive value alike. So this module counts the paths by which each subschema is
applied to one value, at each depth of the value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from farebox.catalog.discovery.json_tree import Level, is_object, objects, walk
from farebox.catalog.discovery.schema_bounds import pattern_size, patterns_of

Schema = Mapping[str, object]

_TEXT_PER_STEP: Final = 64  # characters compared or counted
_PATTERN_PER_STEP: Final = 2  # characters times items of the pattern
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
_COMPARED: Final = frozenset({"enum", "const"})


class UnresolvedReference(Exception):
    """A reference leads to no schema of its document."""


@dataclass(slots=True)
class _SchemaNode:
    """One schema: its own cost, and the subschemas it applies."""

    cost: int = 1  # steps per value
    pattern_size: int = 0
    factor: int = 1  # how often it applies its subschemas
    in_place: list[Schema] = field(default_factory=list)  # applied to the same value
    inside: list[Schema] = field(default_factory=list)  # applied to the values inside

    def steps(self, level: Level, below: Level) -> int:
        text = level.text + below.text  # an object's names count one level below it
        patterns = self.pattern_size * text // _PATTERN_PER_STEP
        return level.values * self.cost + text // _TEXT_PER_STEP + patterns


def count_steps(root: Schema, levels: Sequence[Level], *, limit: int) -> int | None:
    """Count the most steps that validating a value of these levels can take.

    None when a schema refers to itself for the same value. Counting stops past `limit`.

    Raises:
        UnknownPlace: a reference leads to no schema.
    """
    nodes = _reachable_nodes(root)
    order = _topological_order(nodes)
    if order is None:
        return None
    paths, steps = {id(root): 1}, 0
    for level, below in pairwise([*levels, Level(0, 0)]):
        inside: dict[int, int] = {}
        for key in order:
            times = paths.get(key, 0)
            if not times:
                continue
            node = nodes[key]
            steps += times * node.steps(level, below)
            if steps > limit:
                return steps
            _add_paths(paths, node.in_place, times * node.factor)
            _add_paths(inside, node.inside, times * node.factor)
        paths = inside
    return steps


def _add_paths(paths: dict[int, int], schemas: Sequence[Schema], times: int) -> None:
    for schema in schemas:
        paths[id(schema)] = paths.get(id(schema), 0) + times


def _reachable_nodes(root: Schema) -> dict[int, _SchemaNode]:
    nodes: dict[int, _SchemaNode] = {}
    references = _References(root)
    waiting = [root]
    while waiting:
        schema = waiting.pop()
        if id(schema) not in nodes:
            node = nodes[id(schema)] = _read_node(schema, references)
            waiting += [*node.in_place, *node.inside]
    return nodes


def _topological_order(nodes: Mapping[int, _SchemaNode]) -> list[int] | None:
    """Each schema before those it applies in place; None when there is a cycle."""
    sorter = TopologicalSorter({k: [id(s) for s in n.in_place] for k, n in nodes.items()})
    try:
        return list(sorter.static_order())[::-1]
    except CycleError:
        return None


def _read_node(schema: Schema, references: "_References") -> _SchemaNode:
    node = _SchemaNode(pattern_size=sum(map(pattern_size, patterns_of(schema))))
    for name, value in schema.items():
        node.cost += 1 + (len(value) if isinstance(value, list | dict) else 0)
        if name in _IN_PLACE:
            node.in_place += _schemas_in(value)
        elif name in _INSIDE:
            node.inside += _schemas_in(value)
        elif name in _IN_PLACE_BY_NAME:
            node.in_place += _schemas_by_name(value)
        elif name in _INSIDE_BY_NAME:
            node.inside += _schemas_by_name(value)
        elif name in _COMPARED:
            node.cost += sum(1 for _ in walk(value))
        node.factor += name in _TRACKING
    node.in_place += references.resolve(schema)
    return node


def _schemas_in(value: object) -> list[Schema]:
    return [each for each in (value if isinstance(value, list) else [value]) if is_object(each)]


def _schemas_by_name(value: object) -> list[Schema]:
    return [each for each in value.values() if is_object(each)] if is_object(value) else []


class _References:
    """Resolves the references of one document."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._anchors = {str(node["$anchor"]): node for node in objects(root) if "$anchor" in node}

    def resolve(self, schema: Schema) -> Iterator[Schema]:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = self._find(unquote(reference.removeprefix("#")))
            if is_object(target):
                yield target
            elif not isinstance(target, bool):
                raise UnresolvedReference

    def _find(self, pointer: str) -> object:
        if pointer and not pointer.startswith("/"):
            return self._anchors.get(pointer)
        target: object = self._root
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict):
                target = target.get(name)
            elif isinstance(target, list) and name.isdecimal() and len(name) < 5:
                target = target[int(name)] if int(name) < len(target) else None
            else:
                return None
        return target
