"""The endpoints of a skill as OpenAPI 3.1: the part of `/v1/openapi.json` that the skill needs.

Where several actions share an endpoint, the operation takes and returns what any of them does.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from farebox.skills.member_place import MemberPlace, place_of
from farebox.skills.schema_rules import properties_of
from farebox.skills.spec import EndpointAccess, SkillAction, SkillEndpoint, SkillSpec

Json = dict[str, Any]


def openapi_fragment(spec: SkillSpec) -> Json:
    """Make the document."""
    paths: dict[str, Json] = {}
    for endpoint in spec.endpoints:
        actions = [each for each in spec.actions if each.endpoint == endpoint.ref]
        methods = paths.setdefault(endpoint.path, {})
        methods[endpoint.method.lower()] = _operation(spec, endpoint, actions)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": spec.name,
            "version": spec.version,
            "summary": spec.summary,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(spec: SkillSpec, endpoint: SkillEndpoint, actions: Sequence[SkillAction]) -> Json:
    operation: Json = {
        "operationId": f"{spec.slug}-{endpoint.ref}",
        "summary": " ".join(each.summary for each in actions),
        "x-skill-actions": [each.name for each in actions],
    }
    parameters = _parameters(endpoint, actions)
    if parameters:
        operation["parameters"] = parameters
    body = _any_of([_body(endpoint, each) for each in actions])
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _json(body)}
    operation["responses"] = _responses(endpoint, actions)
    if endpoint.auth is not EndpointAccess.NONE:
        optional: list[Json] = [{}] if endpoint.auth is EndpointAccess.OPTIONAL else []
        operation["security"] = [*optional, {"bearer": []}]
    return operation


def _parameters(endpoint: SkillEndpoint, actions: Sequence[SkillAction]) -> list[Json]:
    found: dict[str, Json] = {}
    for action in actions:
        required = action.input.get("required", ())
        for name, schema in properties_of(action.input).items():
            place = place_of(endpoint, name)
            if place not in (MemberPlace.PATH, MemberPlace.QUERY, MemberPlace.HEADER):
                continue
            spelled = (endpoint.headers or {}).get(name, name)
            found[spelled] = {
                "name": spelled,
                "in": place.value,
                "required": name in required,
                "schema": schema,
            }
    return list(found.values())


def _body(endpoint: SkillEndpoint, action: SkillAction) -> Json | None:
    """Make the schema of the request body; None where there is none."""
    if endpoint.tool:
        return _tool_call(endpoint.tool, action.input)
    own = {
        name: schema
        for name, schema in properties_of(action.input).items()
        if place_of(endpoint, name) is MemberPlace.BODY
    }
    if not own:
        return None
    required = [name for name in action.input.get("required", ()) if name in own]
    return {**action.input, "properties": own, "required": required}


def _tool_call(tool: str, arguments: Json) -> Json:
    params = {
        "type": "object",
        "properties": {"name": {"const": tool}, "arguments": arguments},
        "required": ["name", "arguments"],
    }
    return {
        "type": "object",
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "integer"]},
            "method": {"const": "tools/call"},
            "params": params,
        },
        "required": ["jsonrpc", "id", "method", "params"],
    }


def _responses(endpoint: SkillEndpoint, actions: Sequence[SkillAction]) -> Json:
    output = _any_of([each.output for each in actions if each.output.get("type") != "null"])
    if output is not None and endpoint.tool:
        output = {"type": "object", "properties": {"result": _result(output)}}
    success: Json = {"description": "; ".join(each.title for each in actions) + "."}
    if output is not None:
        success["content"] = _json(output)
    responses = {str(endpoint.success): success}
    codes: dict[int, list[str]] = {}
    for error in dict.fromkeys(each for action in actions for each in action.errors):
        codes.setdefault(error.http, []).append(error.code)
    for status, named in sorted(codes.items()):
        words = f"{HTTPStatus(status).phrase}: {', '.join(dict.fromkeys(named))}."
        key = str(status)
        if key in responses:
            responses[key]["description"] += f" With a refusal: {', '.join(dict.fromkeys(named))}."
        else:
            responses[key] = {"description": words}
    return responses


def _result(output: Json) -> Json:
    return {"type": "object", "properties": {"structuredContent": output}}


def _any_of(schemas: Sequence[Json | None]) -> Json | None:
    distinct: list[Json] = []
    for each in schemas:
        if each is not None and each not in distinct:
            distinct.append(each)
    if len(distinct) < 2:
        return distinct[0] if distinct else None
    return {"anyOf": distinct}


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}
