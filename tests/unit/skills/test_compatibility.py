"""What a minor version may change, and what it may not."""

from typing import Any, Final

import pytest

from farebox.skills.compatibility import admits, breaking_changes
from support.skills import VERSIONS, Json, changed, small_spec, version_of

TEXT: Final = {"type": "string", "pattern": "^[a-z]+$"}
NUMBER: Final = {"type": "integer", "maximum": 5}


def record(required: tuple[str, ...] = (), *, is_open: bool = True, **properties: Any) -> Json:
    """The schema of an object."""
    schema: Json = {"type": "object", "properties": properties, "required": list(required)}
    return schema if is_open else schema | {"additionalProperties": False}


@pytest.mark.parametrize(
    ("wide", "narrow", "is_admitted"),
    [
        (TEXT, TEXT, True),
        (TEXT, NUMBER, False),
        ({"type": "integer", "maximum": 9}, NUMBER, True),
        (NUMBER, {"type": "integer", "maximum": 9}, False),
        (record(a=TEXT, b=TEXT, is_open=False), record(a=TEXT, is_open=False), True),
        (record(a=TEXT, is_open=False), record(a=TEXT, b=TEXT, is_open=False), False),
        (record(("a",), a=TEXT, is_open=False), record(a=TEXT, is_open=False), False),
        (record(a=TEXT, is_open=False), record(("a",), a=TEXT, is_open=False), True),
        (record(a=TEXT, b=TEXT), record(a=TEXT), False),
        (record(("a",), a=TEXT), record(("a", "b"), a=TEXT, b=TEXT), True),
        (record(a=TEXT, is_open=False), record(a=TEXT), False),
        (
            record(a=record(b=TEXT, c=NUMBER, is_open=False), is_open=False),
            record(a=record(b=TEXT, is_open=False), is_open=False),
            True,
        ),
        (
            record(a=record(b=TEXT, is_open=False), is_open=False),
            record(a=record(b=NUMBER, is_open=False), is_open=False),
            False,
        ),
    ],
)
def test_schema_admits_what_can_be_proven(wide: Json, narrow: Json, *, is_admitted: bool) -> None:
    assert admits(wide, narrow) is is_admitted


def test_every_packaged_schema_admits_itself() -> None:
    schemas = [
        schema
        for version in VERSIONS
        for action in version.spec.actions
        for schema in (action.input, action.output)
    ]
    assert [schema for schema in schemas if not admits(schema, schema)] == []


def _changes(path: str, value: object) -> list[str]:
    old, new = small_spec("receipts"), small_spec("receipts", "1.1.0")
    return list(breaking_changes(version_of(old).spec, version_of(changed(new, path, value)).spec))


def _action() -> Json:
    action: Json = small_spec("receipts")["actions"][0]
    return action


def test_version_may_add_actions_and_members() -> None:
    action = _action()
    assert _changes("summary", "Another summary.") == []
    assert _changes("actions", [action, action | {"name": "list"}]) == []
    more = action["input"]["properties"] | {"note": TEXT}
    assert _changes("actions/0/input/properties", more) == []
    shown = action["output"]["properties"] | {"note": TEXT}
    assert _changes("actions/0/output/properties", shown) == []


def test_version_may_not_take_away_or_change_what_was_promised() -> None:
    action = _action()
    needed = action["input"] | {
        "properties": action["input"]["properties"] | {"note": TEXT},
        "required": ["transaction", "note"],
    }
    assert _changes("actions/0/input", needed) == [
        "verify: an input that was accepted is not any more"
    ]
    members = dict(action["output"]["properties"])
    del members["payTo"]
    for shown in (members, action["output"]["properties"] | {"amount": NUMBER}):
        assert _changes("actions/0/output/properties", shown) == [
            "verify: the output does not fit the earlier schema"
        ]
    assert _changes("networks/1/enabled", False) == ["the network stellar:pubnet is gone"]
