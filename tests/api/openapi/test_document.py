"""The API schema: every route is in it, and nothing else."""

import re
from collections.abc import Iterator

import jsonschema_rs
from starlette.routing import Route

from farebox.app.asgi import create_app
from farebox.app.configuration import read_settings
from farebox.app.openapi import needs_of
from farebox.kernel.networks import Network
from support.stage import Stage

# who shows nothing may use these; every other route is behind a guard
PUBLIC = frozenset(
    {
        ("GET", "/supported"),
        ("GET", "/v1/settlements/{transaction}"),
        ("GET", "/v1/errors"),
        ("GET", "/v1/openapi.json"),
        ("GET", "/discovery/resources"),
        ("GET", "/discovery/merchant"),
        ("GET", "/discovery/search"),
        ("POST", "/v1/discovery/validate"),
        ("POST", "/v1/auth/challenge"),
        ("POST", "/v1/auth/verify"),
        ("GET", "/.well-known/stellar.toml"),
        ("GET", "/health/live"),
        ("GET", "/health/ready"),
    }
)


def routed(stage: Stage) -> Iterator[tuple[str, Route]]:
    """Each method with its route, of the application as it is served."""
    app = create_app(read_settings(stage.environment))
    for route in app.routes:
        assert isinstance(route, Route), "another kind of route needs a word in the schema too"
        for method in (route.methods or set()) - {"HEAD"}:
            yield method, route


async def test_the_schema_has_every_route_and_no_other(stage: Stage) -> None:
    paths = (await stage.client.get("/v1/openapi.json")).json()["paths"]
    said = {(method.upper(), path) for path, each in paths.items() for method in each}
    assert said == {(method, route.path) for method, route in routed(stage)}


async def test_every_route_is_guarded_or_known_to_be_for_everybody(stage: Stage) -> None:
    open_to_all = {
        (method, route.path) for method, route in routed(stage) if needs_of(route) is None
    }
    assert open_to_all == PUBLIC | {
        (method, f"/v1/auth/{network.label}") for method in ("GET", "POST") for network in Network
    }


async def test_the_schema_says_who_may(stage: Stage) -> None:
    paths = (await stage.client.get("/v1/openapi.json")).json()["paths"]
    assert "security" not in paths["/supported"]["get"]
    assert {} in paths["/verify"]["post"]["security"], "testnet is open"
    assert {} not in paths["/v1/api-keys"]["get"]["security"]


async def test_the_document_is_openapi(stage: Stage) -> None:
    document = (await stage.client.get("/v1/openapi.json")).json()
    assert document["openapi"] == "3.1.0"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            named = {
                each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"
            }
            assert named == set(re.findall(r"\{(\w+)\}", path)), f"{method} {path}"
    assert jsonschema_rs.meta.is_valid({"$defs": document["components"]["schemas"]})
