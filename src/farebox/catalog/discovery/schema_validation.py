"""Validate discovery `info` against its own JSON Schema: offline, and in bounded time."""

from collections.abc import Mapping
from typing import Final

import jsonschema_rs

from farebox.catalog.discovery.drop_reason import Dropped, DropReason
from farebox.catalog.discovery.json_tree import measure, objects
from farebox.catalog.discovery.schema_bounds import judge_document
from farebox.catalog.discovery.schema_steps import UnresolvedReference, count_steps

MAX_INFO_VALUES: Final = 4_000
MAX_SCHEMA_VALUES: Final = 2_000
MAX_STEPS: Final = 200_000  # of the validator, about 100 ns each
_PATTERNS: Final = jsonschema_rs.RegexOptions(size_limit=2**21, dfa_size_limit=2**20)


def judge_info(info: Mapping[str, object], schema: object) -> Dropped | None:
    """Validate info against the schema; None when it is valid.

    Nothing outside the two is read, and the validator takes a bounded number of steps.
    """
    if not isinstance(schema, dict):
        return Dropped(DropReason.SCHEMA_MISSING)
    levels = measure(info, most=MAX_INFO_VALUES)
    if levels is None or measure(schema, most=MAX_SCHEMA_VALUES) is None:
        return Dropped(DropReason.DISCOVERY_TOO_COMPLEX)
    dropped = judge_document(schema, objects(schema))
    if dropped is not None:
        return dropped
    try:
        steps = count_steps(schema, levels, limit=MAX_STEPS)
    except UnresolvedReference:
        return Dropped(DropReason.SCHEMA_INVALID, "a reference leads nowhere")
    if steps is None or steps > MAX_STEPS:
        return Dropped(DropReason.SCHEMA_TOO_COSTLY)
    return _validate(info, schema)


def _validate(info: Mapping[str, object], schema: dict[str, object]) -> Dropped | None:
    try:
        validator = jsonschema_rs.Draft202012Validator(
            schema, validate_formats=False, pattern_options=_PATTERNS, offline=True
        )
    except ValueError as error:
        return _invalid_schema(error)
    try:
        validator.validate(info)
    except ValueError as error:
        return Dropped(DropReason.INFO_DOES_NOT_MATCH_SCHEMA, "/".join(["info", *_place(error)]))
    return None


def _invalid_schema(error: ValueError) -> Dropped:
    path = _place(error)
    if path and (path[-1] == "pattern" or "patternProperties" in path[-2:]):
        return Dropped(DropReason.SCHEMA_PATTERN_REFUSED, "/".join(path))
    return Dropped(DropReason.SCHEMA_INVALID, "/".join(path))


def _place(error: ValueError) -> list[str]:
    return [str(step) for step in getattr(error, "instance_path", ())]
