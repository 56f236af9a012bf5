"""Holding a listing's info against the schema it advertises: offline, and within bounded time."""

from collections.abc import Mapping
from typing import Final

import jsonschema_rs

from farebox.catalog.discovery.drop_reason import Dropped, DropReason
from farebox.catalog.discovery.json_tree import measure, objects
from farebox.catalog.discovery.schema_bounds import judge_document
from farebox.catalog.discovery.schema_steps import UnknownPlace, count_steps

MAX_INFO_VALUES: Final = 4_000
MAX_SCHEMA_VALUES: Final = 2_000
MAX_STEPS: Final = 200_000  # of the validator, about 100 ns each
_PATTERNS: Final = jsonschema_rs.RegexOptions(size_limit=2**22, dfa_size_limit=2**20)


def judge_info(info: Mapping[str, object], schema: object) -> Dropped | None:
    """Why info does not stand by the schema; None when it does.

    Nothing outside the two is read, and the validator is not asked for more than a bounded
    number of steps.
    """
    if not isinstance(schema, dict):
        return Dropped(DropReason.SCHEMA_MISSING)
    levels = measure(info, most=MAX_INFO_VALUES)
    if levels is None or measure(schema, most=MAX_SCHEMA_VALUES) is None:
        return Dropped(DropReason.DISCOVERY_TOO_COMPLEX)
    refused = judge_document(schema, objects(schema))
    if refused is not None:
        return refused
    try:
        steps = count_steps(schema, levels, limit=MAX_STEPS)
    except UnknownPlace:
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
