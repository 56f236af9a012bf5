"""Rules that the spec of a skill has to keep and that no JSON Schema can state."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from farebox.skills.member_place import path_parameters
from farebox.skills.schema_rules import judge_action, properties_of
from farebox.skills.spec import (
    AuthMode,
    EndpointAccess,
    SkillAction,
    SkillEndpoint,
    SkillSpec,
    SkillStatus,
)

_SYMBOL: Final = re.compile(r"\b(?:input|output)(?:\.[A-Za-z0-9]+(?:\[\])?)+")
_CREDENTIALS: Final = frozenset({AuthMode.API_KEY, AuthMode.USER_SESSION})


def judge_spec(spec: SkillSpec) -> Iterator[str]:
    """Yield every fault of a spec, each with its place."""
    yield from _repeated("actions", (each.name for each in spec.actions))
    yield from _repeated("endpoints", (each.ref for each in spec.endpoints))
    yield from _repeated("networks", (each.id for each in spec.networks))
    yield from _judge_header(spec)
    endpoints = {each.ref: each for each in spec.endpoints}
    used = {each.endpoint for each in spec.actions}
    yield from (f"endpoints: no action uses {each}" for each in sorted(endpoints.keys() - used))
    for action in spec.actions:
        endpoint = endpoints.get(action.endpoint)
        faults = chain(judge_action(action), _judge_words(action), _judge_place(action, endpoint))
        yield from (f"actions/{action.name}: {fault}" for fault in faults)


def _judge_header(spec: SkillSpec) -> Iterator[str]:
    if spec.changelog[0].version != spec.version:
        yield "changelog: the first entry is not that of this version"
    if set(spec.auth_mode) != {mode for action in spec.actions for mode in action.auth_mode}:
        yield "authMode: not that of all actions together"
    if (spec.status is SkillStatus.DEPRECATED) != bool(spec.deprecation):
        yield "deprecation: given for a deprecated skill, and for no other"
    exposure = spec.safety.max_exposure
    if spec.safety.moves_funds != (exposure != "0"):
        yield "safety/maxExposure: 0 exactly where no funds move"
    name, _, path = exposure.partition(".")
    bounding = [each for each in spec.actions if each.name == name]
    if exposure != "0" and not any(_has_member(each, path) for each in bounding):
        yield f"safety/maxExposure: there is no {exposure}"
    links = (spec.links.skill_md, spec.links.openapi, spec.links.mcp)
    if any(not each.startswith(f"/v1/skills/{spec.slug}/") for each in links):
        yield "links: not those of this skill"


def _judge_words(action: SkillAction) -> Iterator[str]:
    """Yield what an action says of its errors and members that cannot be right."""
    yield from _repeated("errors", (each.code for each in action.errors))
    effects = action.effects
    moved = (*effects.debits, *effects.credits, *effects.approvals, effects.expiry or "")
    for line in (*moved, *action.preconditions, *action.procedure):
        yield from (
            f"there is no {symbol}"
            for symbol in _SYMBOL.findall(line)
            if not _has_member(action, symbol)
        )


def _judge_place(action: SkillAction, endpoint: SkillEndpoint | None) -> Iterator[str]:
    """Yield the faults of where the members of an input go."""
    if endpoint is None:
        yield f"there is no endpoint {action.endpoint}"
        return
    required, named = set(action.input.get("required", ())), properties_of(action.input)
    for name in path_parameters(endpoint):
        if name not in required or name not in named:
            yield f"input: {name} stands in the path, so it is required"
    needs_credential = endpoint.auth is EndpointAccess.REQUIRED
    if needs_credential and not _CREDENTIALS & set(action.auth_mode):
        yield "authMode: the endpoint needs a credential"


def _repeated(place: str, names: Iterable[str]) -> Iterator[str]:
    yield from (f"{place}: {name} twice" for name, count in Counter(names).items() if count > 1)


def _has_member(action: SkillAction, symbol: str) -> bool:
    """Whether a symbol such as `input.requirements.amount` or `output.accepts[].asset` exists."""
    side, *steps = symbol.replace("[]", ".[]").split(".")
    schemas: list[Mapping[str, Any]] = [action.input if side == "input" else action.output]
    for step in steps:
        schemas = [child for each in schemas for child in _children(each, step)]
    return bool(schemas)


def _children(schema: Mapping[str, Any], step: str) -> Iterator[Mapping[str, Any]]:
    child = schema.get("items") if step == "[]" else properties_of(schema).get(step)
    if isinstance(child, Mapping):
        yield child
    for each in chain(schema.get("anyOf", ()), schema.get("oneOf", ())):
        yield from _children(each, step)
