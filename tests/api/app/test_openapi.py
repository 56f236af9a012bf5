"""The API schema: exactly the routes of the service."""

import re

import jsonschema_rs

from farebox.app.asgi import create_app
from farebox.app.configuration import read_settings
from farebox.kernel.networks import Network
from farebox.web.endpoint import RouteDeclaration
from support.stage import Stage

# who shows nothing may use these; every other route is behind a guard
PUBLIC = frozenset(
    {
        ("GET", "/supported"),
        ("GET", "/v1/settlements/{transaction}"),
        ("GET", "/v1/errors"),
        ("GET", "/v1/openapi.json"),
        ("POST", "/v1/payments/prepare"),
        ("POST", "/v1/payments/complete"),
        ("GET", "/v1/networks"),
        ("GET", "/v1/accounts/{network}/{address}"),
        ("GET", "/v1/contracts/{network}/{contract}"),
        ("GET", "/discovery/resources"),
        ("GET", "/discovery/merchant"),
        ("GET", "/discovery/search"),
        ("POST", "/v1/discovery/validate"),
        ("POST", "/v1/auth/challenge"),
        ("POST", "/v1/auth/verify"),
        ("GET", "/.well-known/stellar.toml"),
        ("GET", "/.well-known/x402"),
        ("GET", "/openapi.json"),
        ("GET", "/llms.txt"),
        ("GET", "/v1/skills"),
        ("GET", "/v1/skills/{slug}/versions"),
        ("GET", "/v1/skills/{slug}/spec"),
        ("GET", "/v1/skills/{slug}/SKILL.md"),
        ("GET", "/v1/skills/{slug}/mcp-tools.json"),
        ("GET", "/v1/skills/{slug}/openapi.json"),
        ("GET", "/health/live"),
        ("GET", "/health/ready"),
    }
)


def routes_of(stage: Stage) -> list[RouteDeclaration]:
    """The declared routes of the application as it is served."""
    return [each.route for each in create_app(read_settings(stage.environment)).endpoints]


async def test_schema_has_exactly_the_routes(stage: Stage) -> None:
    paths = (await stage.client.get("/v1/openapi.json")).json()["paths"]
    documented = {(method.upper(), path) for path, each in paths.items() for method in each}
    assert documented == {(route.method, route.path) for route in routes_of(stage)}


async def test_every_route_is_guarded_or_listed_as_public(stage: Stage) -> None:
    open_to_all = {(route.method, route.path) for route in routes_of(stage) if route.access is None}
    assert open_to_all == PUBLIC | {
        (method, f"/v1/auth/{network.label}") for method in ("GET", "POST") for network in Network
    }


async def test_schema_declares_credentials_and_scopes(stage: Stage) -> None:
    paths = (await stage.client.get("/v1/openapi.json")).json()["paths"]
    assert "security" not in paths["/supported"]["get"]
    assert {} in paths["/verify"]["post"]["security"], "testnet is open"
    assert {} not in paths["/v1/api-keys"]["get"]["security"]


async def test_every_429_and_503_declares_retry_after(stage: Stage) -> None:
    paths = (await stage.client.get("/v1/openapi.json")).json()["paths"]
    for path, methods in paths.items():
        for method, operation in methods.items():
            declared = {
                status
                for status, response in operation["responses"].items()
                if response.get("headers", {}).get("Retry-After", {}).get("required")
            }
            assert declared == {"429", "503"}, f"{method} {path}"


async def test_document_is_valid_openapi(stage: Stage) -> None:
    document = (await stage.client.get("/v1/openapi.json")).json()
    assert document["openapi"] == "3.1.0"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            named = {
                each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"
            }
            assert named == set(re.findall(r"\{(\w+)\}", path)), f"{method} {path}"
    assert jsonschema_rs.meta.is_valid({"$defs": document["components"]["schemas"]})
