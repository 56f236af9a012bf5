"""The service's own API schema (`/v1/openapi.json`, OpenAPI 3.1), from what each route says."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from farebox.web.answers import send_json
from farebox.web.guard import Guarded, Needs
from farebox.web.operation import (
    JSON,
    Operation,
    Parameter,
    Place,
    Reply,
    Schema,
    Shape,
    grant_words,
    record,
)

PATH: Final = "/v1/openapi.json"
_SCHEMAS: Final = "#/components/schemas/"
_ERROR: Final = record(
    {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "pattern": "^[A-Za-z0-9_]+$"},
                "message": {"type": "string"},
                "requestId": {"type": "string"},
                "details": {},
            },
            "required": ["code", "message", "requestId"],
            "additionalProperties": False,
        }
    }
)
_REFUSED: Final = {
    400: "The request cannot be read.",
    401: "No valid credential is shown.",
    403: "The credential does not reach this far.",
    404: "There is no such record, or it is somebody else's.",
    408: "The body did not arrive in time.",
    409: "The record is not in a state for this.",
    413: "The body is larger than 256 KB.",
    415: "The body is sent with a content encoding.",
    429: "Too many requests; `Retry-After` says when there are more.",
    503: "Something the service needs is away.",
}
_WITH_A_BODY: Final = (400, 408, 413, 415)
_GUARDED: Final = (401, 403)
_ALWAYS: Final = (429, 503)
_CREDENTIALS: Final[tuple[dict[str, list[str]], ...]] = (
    {"bearer": []},
    {"key": []},
    {"cookie": [], "csrf": []},
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
}
_encode: Final = msgspec.json.Encoder().encode


def needs_of(route: Route) -> Needs | None:
    """What the route asks of a caller; None when it asks nothing of anybody."""
    return route.endpoint.needs if isinstance(route.endpoint, Guarded) else None


def document(routes: Iterable[BaseRoute], operations: Sequence[Operation]) -> Schema:
    """The schema of those operations that have a route."""
    shapes = _Shapes(operations)
    paths: dict[str, dict[str, object]] = {}
    said = {(each.method, each.path): each for each in operations}
    for route in routes:
        if not isinstance(route, Route):
            continue
        for method in sorted(route.methods or ()):
            operation = said.get((method, route.path))
            if operation is not None:
                entry = _operation(operation, needs_of(route), shapes)
                paths.setdefault(route.path, {})[method.lower()] = entry
    return {
        "openapi": "3.1.0",
        "info": {"title": "Farebox", "version": "1", "license": {"name": "Apache-2.0"}},
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": shapes.components, "securitySchemes": _SECURITY},
    }


class _Shapes:
    """The schemas that the operations share, by name."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        types = dict.fromkeys(
            shape
            for each in operations
            for shape in (each.request, each.failure, *(r.shape for r in each.replies.values()))
            if isinstance(shape, type)
        )
        found, components = msgspec.json.schema_components(types, ref_template=_SCHEMAS + "{name}")
        self._by_type = dict(zip(types, found, strict=True))
        self.components: dict[str, object] = {"Error": _ERROR, **components}

    def of(self, shape: Shape) -> Schema:
        return self._by_type[shape] if isinstance(shape, type) else shape


def _operation(operation: Operation, needs: Needs | None, shapes: _Shapes) -> Schema:
    entry: dict[str, object] = {
        "operationId": _name(operation),
        "tags": [operation.tag],
        "summary": operation.words,
        "responses": _replies(operation, needs, shapes),
    }
    if operation.parameters:
        entry["parameters"] = [_parameter(each) for each in operation.parameters]
    if operation.request is not None:
        schema = {"schema": shapes.of(operation.request)}
        entry["requestBody"] = {
            "required": operation.is_request_required,
            "content": dict.fromkeys(operation.request_media, schema),
        }
    if needs is not None:
        entry["description"] = grant_words(needs.grant)
        entry["security"] = [*([{}] if needs.is_optional else []), *_CREDENTIALS]
    return entry


def _name(operation: Operation) -> str:
    words = operation.path.replace("{", "").replace("}", "").replace(".", "-").split("/")
    return "-".join([operation.method.lower(), *(word for word in words if word)])


def _replies(operation: Operation, needs: Needs | None, shapes: _Shapes) -> dict[str, object]:
    refused = {*operation.refused, *_ALWAYS}
    refused |= set(_WITH_A_BODY) if operation.request is not None else set()
    refused |= set(_GUARDED) if needs is not None else set()
    failure: Schema = {"$ref": f"{_SCHEMAS}Error"}
    if operation.failure is not None:
        failure = shapes.of(operation.failure)
    replies: dict[int, object] = {
        status: {"description": _REFUSED[status], "content": {JSON: {"schema": failure}}}
        for status in refused
    }
    replies |= {status: _reply(reply, shapes) for status, reply in operation.replies.items()}
    return {str(status): reply for status, reply in sorted(replies.items())}


def _reply(reply: Reply, shapes: _Shapes) -> Schema:
    entry: dict[str, object] = {"description": reply.words}
    if reply.shape is not None:
        entry["content"] = {reply.media: {"schema": shapes.of(reply.shape)}}
    if reply.headers:
        entry["headers"] = {
            each.name: {"description": each.words, "schema": each.schema} for each in reply.headers
        }
    return entry


def _parameter(parameter: Parameter) -> Mapping[str, object]:
    return {
        "name": parameter.name,
        "in": parameter.place.value,
        "required": parameter.is_required or parameter.place is Place.PATH,
        "description": parameter.words,
        "schema": parameter.schema,
    }


class _Document:
    """Answers with the schema, which does not change while the service runs."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, 200, self._body)


SCHEMA: Final = Operation(
    method="GET",
    path=PATH,
    tag="service",
    words="This document.",
    replies={200: Reply("The schema.", {"type": "object", "required": ["openapi", "paths"]})},
)


def openapi_route(routes: Sequence[BaseRoute], operations: Sequence[Operation]) -> Route:
    """The route of the schema of these routes and of itself."""
    body = _encode(document([*routes, Route(PATH, _not_called, methods=["GET"])], operations))
    return Route(PATH, _Document(body), methods=["GET"])


async def _not_called(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("stands for the route while its own document is made")
