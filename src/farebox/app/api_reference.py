"""The reference page of every declared route, docs/api-reference.md: `scripts/docs`."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import UnionType
from typing import Final

import msgspec

from farebox.accounts.web_auth_http import web_auth_routes
from farebox.app.asgi import create_app
from farebox.app.configuration import read_settings
from farebox.kernel.networks import Network
from farebox.web.endpoint import BodyType, RouteDeclaration
from farebox.web.error_responses import EARLY_CODES

_TITLES: Final = {
    "facilitator": "Verify and settle",
    "discovery": "Discovery",
    "accounts": "Accounts",
    "vault": "Vault",
    "wrappers": "Wrappers",
    "agents": "Agents",
    "skills": "Skills",
    "wallets": "Sign a payment",
    "ledger": "Networks, accounts and contracts",
    "payments": "Payments that were settled",
    "automation": "Automation",
    "origin": "Origin documents",
    "service": "The service",
}
_HEAD: Final = """\
# API reference

Every route as it is declared, written by `scripts/docs` from the code. How credentials, lists and
errors work is in [the API](api.md); the schemas of all bodies are in `GET /v1/openapi.json`.

A request without a valid body, credential or free place is answered with the error codes listed at
its route. `/verify` and `/settle` admit requests without a credential on a network that needs none.
The server answers on its own, before it reads a request, with
"""


def documented_routes() -> list[RouteDeclaration]:
    """Return the declared routes of a service for every network.

    `/verify` and `/settle` are as on a network that needs a key.
    """
    settings = {"FAREBOX_DATABASE_URL": "postgresql://127.0.0.1/reference"}
    app = create_app(read_settings(settings, needs_network=False))
    standard = [route for network in Network for route in web_auth_routes(network)]
    return [*(endpoint.route for endpoint in app.endpoints), *standard]


def api_reference(routes: Iterable[RouteDeclaration]) -> str:
    """Write the page of these routes, in their order within each group."""
    by_tag: dict[str, list[RouteDeclaration]] = {tag: [] for tag in _TITLES}
    for route in routes:
        by_tag[route.tag].append(route)
    lines = [_HEAD + _codes(EARLY_CODES) + "."]
    for tag, title in _TITLES.items():
        lines += ["", f"## {title}"]
        for route in by_tag[tag]:
            lines += ["", *_section(route)]
    return "\n".join(lines) + "\n"


def _section(route: RouteDeclaration) -> Iterator[str]:
    yield f"### {route.method} {route.path}"
    yield ""
    yield route.summary
    yield ""
    yield f"- Access: {'anybody.' if route.access is None else route.access.sentence}"
    yield f"- Rate: {_rate(route)}"
    if route.request is not None:
        kind = "body" if route.is_request_required else "optional body"
        media = " or ".join(f"`{each}`" for each in route.request_media)
        limit = f"at most {route.body_limit_bytes // 1024} KB"
        yield f"- Request: {kind}{_name(route.request)}, {media}, {limit}."
    for status, response in sorted(route.responses.items()):
        yield f"- {status}{_name(response.body)}: {response.description}"
    yield f"- Errors: {_codes(route.codes)}{_failure(route)}."
    if route.is_cross_origin:
        yield "- Pages of other origins may call it (CORS)."
    if route.parameters:
        yield ""
        yield "| parameter | in | |"
        yield "|---|---|---|"
        for each in route.parameters:
            required = " Required." if each.is_required else ""
            yield f"| `{each.name}` | {each.location} | {each.description}{required} |"
    if route.example.request is not None:
        yield from _block("Request", route.example.request)
    if route.example.response is not None:
        yield from _block(f"Response {route.example.status}", route.example.response)


def _rate(route: RouteDeclaration) -> str:
    if route.rate is None:
        return "unlimited."
    cost = f", {route.rate.cost} tokens a request" if route.rate.cost > 1 else ""
    return f"class {route.rate.rate_class}{cost}."


def _name(body: BodyType | None) -> str:
    types = body.__args__ if isinstance(body, UnionType) else (body,)
    names = [f"`{each.__name__}`" for each in types if isinstance(each, type)]
    return f" {' or '.join(names)}" if names else ""


def _failure(route: RouteDeclaration) -> str:
    return "" if route.failure is None else f", in the shape of `{route.failure.body.__name__}`"


def _codes(codes: Iterable[str]) -> str:
    return ", ".join(f"`{code}`" for code in codes)


def _block(title: str, value: object) -> Iterator[str]:
    yield ""
    yield f"{title}:"
    yield ""
    if isinstance(value, str):
        yield from ("```", value.rstrip("\n"), "```")
        return
    yield "```json"
    yield msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    yield "```"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(api_reference(documented_routes()))
