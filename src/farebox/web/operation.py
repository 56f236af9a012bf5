"""What is said of one operation of the service in its API schema, beside the route that does it.

A shape is a msgspec type, from which its schema is generated, or a JSON Schema written out. Whether
an operation needs a credential is not said here: the route's guard knows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.kernel.caller import Grant

Schema = Mapping[str, object]
Shape = type | Schema
JSON: Final = "application/json"


class Place(StrEnum):
    """Where a parameter stands."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; those of the path are always there."""

    name: str
    words: str
    schema: Schema
    place: Place = Place.QUERY
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What one status comes with; no shape means no body."""

    words: str
    shape: Shape | None = None
    media: str = JSON
    headers: Sequence[Parameter] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    `refused` are the statuses whose body is the uniform error, those apart that follow from the
    operation itself: a body that cannot be read, a credential that is missing, too many requests,
    a part of the service that is away.
    """

    method: str
    path: str
    tag: str
    words: str
    replies: Mapping[int, Reply]
    request: Shape | None = None
    request_media: Sequence[str] = (JSON,)
    is_request_required: bool = True
    parameters: Sequence[Parameter] = ()
    refused: Sequence[int] = ()
    failure: Shape | None = None  # what stands in place of the uniform error


def text(*, longest: int, pattern: str | None = None) -> Schema:
    """A string of at most so many characters."""
    schema: dict[str, object] = {"type": "string", "maxLength": longest}
    return schema if pattern is None else schema | {"pattern": pattern}


def whole(least: int, most: int) -> Schema:
    """A whole number."""
    return {"type": "integer", "minimum": least, "maximum": most}


def one_of(*values: str) -> Schema:
    """One of some strings."""
    return {"type": "string", "enum": list(values)}


def record(required: Mapping[str, Schema], **optional: Schema) -> Schema:
    """An object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def items(schema: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": schema}


def identifier(words: str, *, name: str = "id") -> Parameter:
    """A record's id in the path; one that is unknown or somebody else's is 404."""
    return Parameter(name, words, {"type": "string", "minLength": 1}, Place.PATH, is_required=True)


PAGE: Final = (
    Parameter("limit", "How many at most; 100 are given at most.", whole(1, 999_999)),
    Parameter("cursor", "nextCursor of the page before.", text(longest=512)),
)


def grant_words(grant: Grant | None) -> str:
    """What a key needs, in words."""
    if grant is None:
        return "A wallet's session or the operator; a key will not do."
    return f"A session, the operator, or a key with the scope {grant.value}."
