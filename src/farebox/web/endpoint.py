"""The declaration of a route: the one value that describes it.

The service makes from it the routing, the guard, the rate limit, the body limit, the error bodies,
CORS, `/v1/openapi.json` and `docs/api-reference.md`. A body is a msgspec type or a union of tagged
ones, from which its JSON schema is generated, or a JSON schema.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import UnionType
from typing import Final

from starlette.types import ASGIApp

from farebox.kernel.error_codes import ErrorCode
from farebox.web.error_responses import FailureBody
from farebox.web.guard import Access
from farebox.web.request_body import BODY_LIMIT_BYTES

JsonSchema = Mapping[str, object]
BodyType = type | UnionType | JsonSchema
JSON: Final = "application/json"


class RateClass(StrEnum):
    """Requests that are limited apart from all others."""

    DISCOVERY = "discovery"  # reads of public records
    VERIFY = "verify"
    SETTLE = "settle"
    MANAGEMENT = "management"  # sign-in, keys, secrets, and all else without a class of its own
    GATEWAY = "gateway"


@dataclass(frozen=True, slots=True)
class Rate:
    """The rate class of a route; a request takes `cost` tokens."""

    rate_class: RateClass
    cost: int = 1


class ParameterLocation(StrEnum):
    """Where a parameter stands."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a request, or a header of a response."""

    name: str
    description: str
    schema: JsonSchema
    location: ParameterLocation = ParameterLocation.QUERY
    is_required: bool = False
    id_prefix: str = ""  # of the ids of an owner's records, as in `key_…`; empty for all else


@dataclass(frozen=True, slots=True)
class ResponseDeclaration:
    """A response of one status; `body` None means that it has none."""

    description: str
    body: BodyType | None = None
    media: str = JSON
    headers: Sequence[Parameter] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A request and its response; None means no body. Each is checked against its type."""

    request: object = None
    response: object = None
    status: int = 200


@dataclass(frozen=True, slots=True)
class FailureShape:
    """The body of a route's failures in place of the uniform error body."""

    body: type
    render: FailureBody


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteDeclaration:
    """One method of one path."""

    method: str
    path: str
    tag: str
    summary: str
    responses: Mapping[int, ResponseDeclaration]
    request: BodyType | None = None
    request_media: Sequence[str] = (JSON,)
    is_request_required: bool = True
    body_limit_bytes: int = BODY_LIMIT_BYTES
    parameters: Sequence[Parameter] = ()
    access: Access | None = None  # None: all callers; credentials are not read
    rate: Rate | None = Rate(RateClass.MANAGEMENT)  # None: unlimited
    errors: Sequence[ErrorCode] = ()  # those apart that follow from the declaration itself
    failure: FailureShape | None = None  # None: the uniform error body
    is_cross_origin: bool = False  # whether pages of other origins may call it (CORS)
    example: Example

    @property
    def codes(self) -> tuple[ErrorCode, ...]:
        """Every code that the route answers with, in the order of their declaration."""
        codes = {*self.errors, ErrorCode.TOO_MANY_REQUESTS, ErrorCode.SERVICE_UNAVAILABLE}
        if self.request is not None:
            codes |= {ErrorCode.BODY_TOO_LARGE, ErrorCode.REQUEST_TIMEOUT}
            codes |= {ErrorCode.UNSUPPORTED_MEDIA_TYPE}
        if self.access is not None:
            codes |= self.access.codes
        return tuple(code for code in ErrorCode if code in codes)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A declared route and the handler that serves it."""

    route: RouteDeclaration
    handler: ASGIApp


def text(*, max_length: int, pattern: str | None = None) -> JsonSchema:
    """Make the schema of a string of at most `max_length` characters."""
    schema: dict[str, object] = {"type": "string", "maxLength": max_length}
    return schema if pattern is None else schema | {"pattern": pattern}


def integer(minimum: int, maximum: int) -> JsonSchema:
    """Make the schema of a whole number."""
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def one_of(*values: str) -> JsonSchema:
    """Make the schema of one of some strings."""
    return {"type": "string", "enum": list(values)}


def record_id(description: str, *, name: str = "id", prefix: str = "") -> Parameter:
    """Declare a record's id in the path; `prefix` is that of the ids of an owner's records.

    An id that is unknown, or of another owner's record, is answered with 404.
    """
    schema: JsonSchema = {"type": "string", "minLength": 1}
    return Parameter(
        name, description, schema, ParameterLocation.PATH, is_required=True, id_prefix=prefix
    )
