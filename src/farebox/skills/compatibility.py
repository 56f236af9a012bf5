"""Whether a later version of a skill keeps the promises of an earlier one with the same major.

A minor version may add actions, optional members of an input and members of an output. What was
accepted stays accepted, and what is answered still fits the schema that was promised.
"""

from collections.abc import Iterator
from typing import Any, Final

import jsonschema_rs

from farebox.skills.schema_rules import properties_of
from farebox.skills.spec import SkillSpec

Schema = dict[str, Any]
_PLAIN: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "title", "description", "default"}
)


def breaking_changes(earlier: SkillSpec, later: SkillSpec) -> Iterator[str]:
    """Yield what callers of the earlier version would stumble over in the later one."""
    actions = {each.name: each for each in later.actions}
    for old in earlier.actions:
        new = actions.get(old.name)
        if new is None:
            yield f"the action {old.name} is gone"
            continue
        if not admits(new.input, old.input):
            yield f"{old.name}: an input that was accepted is not any more"
        if not admits(old.output, new.output):
            yield f"{old.name}: the output does not fit the earlier schema"
    served = {each.id for each in later.networks if each.enabled}
    lost = [each.id for each in earlier.networks if each.enabled and each.id not in served]
    yield from (f"the network {each} is gone" for each in lost)


def admits(wide: Schema, narrow: Schema) -> bool:
    """Whether every value of `narrow` is one of `wide`, as far as that can be proven.

    The library leaves closed objects that gain a property undecided, so the properties of plain
    objects are compared one by one.
    """
    if _covers(wide, narrow):
        return True
    if not (_is_plain_object(wide) and _is_plain_object(narrow)):
        return False
    ours, theirs = properties_of(wide), properties_of(narrow)
    is_open, may_have_more = (each.get("additionalProperties", True) for each in (wide, narrow))
    return (
        set(wide.get("required", ())) <= set(narrow.get("required", ()))
        and (not may_have_more or (is_open and ours.keys() <= theirs.keys()))
        and all(admits(ours[name], theirs[name]) if name in ours else is_open for name in theirs)
    )


def _is_plain_object(schema: Schema) -> bool:
    return schema.get("type") == "object" and schema.keys() <= _PLAIN


def _covers(wide: Schema, narrow: Schema) -> bool:
    first, second = (jsonschema_rs.canonicalize(each, offline=True) for each in (wide, narrow))
    return first.covers(second) is jsonschema_rs.canonical.Containment.YES
