"""Rules for the JSON schemas and examples of a skill's actions.

A reader of a spec calls the service with nothing else: a schema has to be valid by itself, its
amounts have to survive every JSON parser, and an address says nothing without its network.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import jsonschema_rs

from farebox.kernel.addresses import parse_party
from farebox.kernel.networks import Network
from farebox.skills.spec import SkillAction

MAX_SAFE_INTEGER: Final = 2**53 - 1  # the largest that every JSON parser reads exactly
_AMOUNT: Final = re.compile(
    r"amount|balance|liabilities|reserve|inclusion|meanPayment", re.IGNORECASE
)
_ADDRESS_PATTERN: Final = re.compile(r"\^\[?(?:GC|G|C)\]?\[A-Z2-7\]")
_ADDRESS: Final = re.compile(r"\b[GC][A-Z2-7]{55}\b")
# members, and values of an example, that say which network an address is on
_NETWORK_MEMBERS: Final = frozenset({"network", "networks", "signers"})
_NETWORK_VALUES: Final = frozenset({*Network, "stellar:*"})
Schema = dict[str, Any]


def judge_action(action: SkillAction) -> Iterator[str]:
    """Yield the faults of an action's schemas and examples, each with its place."""
    schemas = {"input": action.input, "output": action.output}
    faults = [f"{side}: {each}" for side, own in schemas.items() for each in judge_schema(own)]
    if action.input.get("type") != "object" or action.input.get("additionalProperties", True):
        faults.append("input: not an object without further members")
    if any(map(_takes_address, schemas.values())) and not any(
        map(_takes_network, schemas.values())
    ):
        faults.append("an address without a network")
    yield from faults or _judge_examples(action)


def _judge_examples(action: SkillAction) -> Iterator[str]:
    for index, example in enumerate(action.examples):
        for side in ("input", "output"):
            faults = misfits(getattr(action, side), getattr(example, side))
            yield from (f"examples/{index}/{side}: {fault}" for fault in faults)
        faults = _judge_addresses([example.input, example.output])
        yield from (f"examples/{index}: {fault}" for fault in faults)


def judge_schema(schema: Schema) -> Iterator[str]:
    """Yield the faults of one JSON schema."""
    if not jsonschema_rs.meta.is_valid(schema):
        yield "no JSON Schema of draft 2020-12"
        return
    for each in _objects(schema):
        yield from _judge_object(each)


def _judge_object(schema: Schema) -> Iterator[str]:
    if "$ref" in schema:
        yield "a reference: write the schema out"
    if schema.get("type") == "integer" and not schema.get("maximum", MAX_SAFE_INTEGER + 1) <= (
        MAX_SAFE_INTEGER
    ):
        yield f"an integer without a maximum of at most {MAX_SAFE_INTEGER}"
    for name, own in properties_of(schema).items():
        if _AMOUNT.search(name) and not _is_amount(own):
            yield f"{name} is an amount: a string with a pattern"


def _takes_address(schema: Schema) -> bool:
    return any(_ADDRESS_PATTERN.match(str(each.get("pattern", ""))) for each in _objects(schema))


def _takes_network(schema: Schema) -> bool:
    return any(_NETWORK_MEMBERS & properties_of(each).keys() for each in _objects(schema))


def _judge_addresses(value: object) -> Iterator[str]:
    """Yield the faults of the addresses in an example: each is real, and its network is named."""
    texts = list(_texts(value))
    addresses = [found for text in texts for found in _ADDRESS.findall(text)]
    yield from (f"{each} is no address" for each in addresses if parse_party(each) is None)
    if addresses and not _NETWORK_VALUES & set(texts):
        yield "an address without a network"


def misfits(schema: Schema, value: object) -> Iterator[str]:
    """Yield why a value does not fit a valid schema."""
    validator = jsonschema_rs.Draft202012Validator(schema, offline=True)
    for error in validator.iter_errors(value):
        place = "/".join(map(str, error.instance_path))
        yield f"{place}: {error.message}" if place else error.message


def properties_of(schema: object) -> Mapping[str, Any]:
    """Return the properties that a schema declares itself."""
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _is_amount(schema: Schema) -> bool:
    """Whether a schema is that of an amount as text, or of a list, an object or a flag."""
    kinds = schema.get("type")
    if kinds in ("object", "array", "boolean"):
        return True
    texts = ["string", *(["null"] if isinstance(kinds, list) else [])]
    return (kinds == "string" or kinds == texts) and "pattern" in schema


def _objects(document: object) -> Iterator[Schema]:
    """Yield every JSON object of a document, itself included."""
    yield from (each for each in _values(document) if isinstance(each, dict))


def _texts(document: object) -> Iterator[str]:
    """Yield every string of a document, names of members included."""
    yield from (each for each in _values(document) if isinstance(each, str))
    for each in _objects(document):
        yield from each


def _values(value: object) -> Iterator[object]:
    """Yield a value and every value in it."""
    yield value
    children = value.values() if isinstance(value, dict) else value
    if isinstance(children, Iterable) and not isinstance(children, str):
        for each in children:
            yield from _values(each)
