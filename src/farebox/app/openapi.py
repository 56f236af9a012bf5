"""The API schema (`/v1/openapi.json`, OpenAPI 3.1), made from the declared routes."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from http import HTTPStatus
from types import UnionType
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.kernel.error_codes import ErrorCode
from farebox.web.endpoint import (
    JSON,
    BodyType,
    Endpoint,
    Example,
    JsonSchema,
    Parameter,
    ParameterLocation,
    ResponseDeclaration,
    RouteDeclaration,
    integer,
)
from farebox.web.error_responses import EARLY_CODES, ErrorBody
from farebox.web.responses import send_json

_SCHEMAS: Final = "#/components/schemas/"
_CREDENTIALS: Final[tuple[dict[str, list[str]], ...]] = (
    {"bearer": []},
    {"key": []},
    {"cookie": [], "csrf": []},
    {"cookie": [], "csrf": [], "account": []},
)
_SECURITY: Final = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "A session (fbx_sess_…), a personal key (fbx_live_…) or the operator's key.",
    },
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "__Host-fbx_sess"},
    "csrf": {"type": "apiKey", "in": "header", "name": "X-Farebox-CSRF"},
    "account": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Farebox-Account",
        "description": (
            "The user id that the page shows. With the cookie of another account the request is"
            " refused: 409 account_mismatch."
        ),
    },
}
_RETRY_AFTER: Final = Parameter(
    "Retry-After",
    "The seconds after which the same request may be repeated.",
    integer(1, 86_400),
    is_required=True,
)
_REPEATABLE: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_encode: Final = msgspec.json.Encoder().encode
SCHEMA: Final = RouteDeclaration(
    method="GET",
    path="/v1/openapi.json",
    tag="service",
    summary="This document.",
    responses={
        200: ResponseDeclaration(
            "The schema.", {"type": "object", "required": ["openapi", "paths"]}
        )
    },
    rate=None,
    is_cross_origin=True,
    example=Example(response={"openapi": "3.1.0", "paths": {}}),
)


class Components:
    """The schemas that routes share, by name."""

    def __init__(self, routes: Iterable[RouteDeclaration]) -> None:
        types = dict.fromkeys(
            body
            for route in routes
            for body in (
                ErrorBody,
                route.request,
                route.failure and route.failure.body,
                *(response.body for response in route.responses.values()),
            )
            if isinstance(body, type | UnionType)
        )
        schemas, self.schemas = msgspec.json.schema_components(
            types, ref_template=_SCHEMAS + "{name}"
        )
        self._by_type = dict(zip(types, schemas, strict=True))

    def schema_of(self, body: BodyType) -> JsonSchema:
        """Return the schema of a body: for a type, the reference to its component."""
        return self._by_type[body] if isinstance(body, type | UnionType) else body


def openapi_document(routes: Sequence[RouteDeclaration]) -> JsonSchema:
    """Make the schema of these routes."""
    components = Components(routes)
    paths: dict[str, dict[str, object]] = {}
    for route in sorted(routes, key=lambda each: (each.path, each.method)):
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Farebox", "version": "1", "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {"schemas": components.schemas, "securitySchemes": _SECURITY},
    }


def _operation(route: RouteDeclaration, components: Components) -> JsonSchema:
    operation: dict[str, object] = {
        "operationId": _operation_id(route),
        "tags": [route.tag],
        "summary": route.summary,
        "responses": _responses(route, components),
    }
    if route.parameters:
        operation["parameters"] = [_parameter(each) for each in route.parameters]
    if route.request is not None:
        schema = components.schema_of(route.request)
        content = {"schema": schema, "example": route.example.request}
        operation["requestBody"] = {
            "required": route.is_request_required,
            "content": dict.fromkeys(route.request_media, content),
        }
    if route.access is not None:
        operation["description"] = route.access.sentence
        operation["security"] = [*([{}] if route.access.is_optional else []), *_CREDENTIALS]
    return operation


def _operation_id(route: RouteDeclaration) -> str:
    words = route.path.replace("{", "").replace("}", "").replace(".", "-").split("/")
    return "-".join([route.method.lower(), *(word for word in words if word)])


def _responses(route: RouteDeclaration, components: Components) -> dict[str, object]:
    """Make the responses by status, from the declared responses and the error codes."""
    codes: dict[int, list[ErrorCode]] = {}
    for code in dict.fromkeys((*route.codes, *EARLY_CODES)):
        codes.setdefault(code.status, []).append(code)
    return {
        str(status): _response(route, status, codes.get(status, []), components)
        for status in sorted(codes.keys() | route.responses.keys())
    }


def _response(
    route: RouteDeclaration, status: int, codes: Sequence[ErrorCode], components: Components
) -> JsonSchema:
    """Make the response of one status: the declared one, the failure of a route, or both.

    The server answers for itself before a request is read: its error body is the uniform one.
    """
    declared = route.responses.get(status)
    words, schemas = [], []
    if declared is not None:
        words.append(declared.description)
        schemas += [components.schema_of(declared.body)] if declared.body is not None else []
    if codes:
        words.append(f"{HTTPStatus(status).phrase}: {', '.join(f'`{code}`' for code in codes)}.")
        if route.failure is not None and set(codes) & set(route.codes):
            schemas.append(components.schema_of(route.failure.body))
        if route.failure is None or set(codes) & set(EARLY_CODES):
            schemas.append(components.schema_of(ErrorBody))
    entry: dict[str, object] = {"description": " ".join(words)}
    if schemas:
        distinct = [each for at, each in enumerate(schemas) if each not in schemas[:at]]
        content: dict[str, object] = {
            "schema": distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
        }
        if status == route.example.status and declared is not None:
            content["example"] = route.example.response
        entry["content"] = {JSON if declared is None else declared.media: content}
    headers = [*(declared.headers if declared is not None else ())]
    headers += [_RETRY_AFTER] if status in _REPEATABLE else []
    if headers:
        entry["headers"] = {each.name: _header(each) for each in headers}
    return entry


def _header(header: Parameter) -> Mapping[str, object]:
    required = {"required": True} if header.is_required else {}
    return {"description": header.description, "schema": header.schema, **required}


def _parameter(parameter: Parameter) -> Mapping[str, object]:
    return {
        "name": parameter.name,
        "in": parameter.location.value,
        "required": parameter.is_required or parameter.location is ParameterLocation.PATH,
        "description": parameter.description,
        "schema": parameter.schema,
    }


class SchemaEndpoint:
    """Answers with the schema of `routes`, which is made for the first request."""

    def __init__(self, routes: Sequence[RouteDeclaration]) -> None:
        self._routes = routes

    @cached_property
    def _body(self) -> bytes:
        return _encode(openapi_document(self._routes))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, 200, self._body)


def openapi_endpoint(endpoints: Sequence[Endpoint]) -> Endpoint:
    """Return the route of the schema of these routes and of itself."""
    routes = [*(each.route for each in endpoints), SCHEMA]
    return Endpoint(SCHEMA, SchemaEndpoint(routes))
