"""The example of every declared route fits the types and schemas that the route declares."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from farebox.app.api_reference import documented_routes
from farebox.app.openapi import openapi_document
from farebox.web.endpoint import Example, RouteDeclaration

ROUTES = documented_routes()


def misfits(route: RouteDeclaration) -> list[str]:
    """The parts of the example that the document of the route does not allow."""
    document: Any = openapi_document([route])
    operation = document["paths"][route.path][route.method.lower()]
    example = route.example
    found = []
    if (route.request is None) != (example.request is None):
        found.append("a request body")
    elif route.request is not None:
        content = operation["requestBody"]["content"][route.request_media[0]]
        found += _misfit("request", content["schema"], example.request, document)
        if isinstance(route.request, type):
            try:
                msgspec.convert(example.request, route.request)
            except msgspec.ValidationError as error:
                found.append(f"request: {error}")
    declared = route.responses.get(example.status)
    if declared is None:
        return [*found, f"status {example.status}"]
    if declared.body is not None:
        content = operation["responses"][str(example.status)]["content"][declared.media]
        found += _misfit("response", content["schema"], example.response, document)
    elif example.response is not None:
        found.append("a response body")
    return found


def _misfit(
    name: str, schema: Mapping[str, object], value: object, document: Mapping[str, Any]
) -> list[str]:
    whole = {**schema, "components": document["components"]}
    errors = jsonschema_rs.Draft202012Validator(whole).iter_errors(value)
    return [f"{name}: {error.message}" for error in errors]


def test_route_examples_fit_the_declarations() -> None:
    found = {f"{route.method} {route.path}": misfits(route) for route in ROUTES}
    assert {route: parts for route, parts in found.items() if parts} == {}


def test_path_parameters_of_routes_are_declared() -> None:
    assert [
        route.path
        for route in ROUTES
        if re.findall(r"\{(\w+)\}", route.path)
        != [each.name for each in route.parameters if each.location == "path"]
    ] == []


@pytest.mark.parametrize(
    ("path", "example"),
    [
        ("/verify", Example(request={}, response={"isValid": True})),
        ("/verify", Example(response={"isValid": True})),
        ("/health/live", Example(response={"status": "broken"})),
        ("/health/live", Example(response={"status": "ok"}, status=201)),
        ("/health/live", Example(request={}, response={"status": "ok"})),
    ],
)
def test_example_that_does_not_fit_is_noticed(path: str, example: Example) -> None:
    (route,) = (each for each in ROUTES if each.path == path)
    assert misfits(replace(route, example=example)) != []
