"""The examples of the API schema and of the pages are what the service takes."""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec
import pytest

from farebox.app.api_reference import documented_routes
from farebox.kernel.addresses import parse_party
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.web.endpoint import RouteDeclaration
from support.asgi import Answer, AsgiClient
from support.callers import sign_in_wallet
from support.stage import environment_for, service
from support.stage_fixtures import Networks
from support.vault import VAULT_SETTING

ROOT: Final = Path(__file__).parents[3]
ADDRESS: Final = re.compile(r"\b[GC][A-Z2-7]{55}\b")
CUT: Final = "…"  # of a text that is made for each request: an envelope, an entry, a signature
# what is said of a request that has such a text, and of no other member of it
CUT_ONLY: Final = (
    "invalid_exact_stellar_payload_malformed", "invalid_challenge", "invalid_entry",
)  # fmt: skip
# what is said where something else is not on the stage: a host name, and so a wrapper; a paymaster,
# and so plans; payments through the gateway. A body is read before what it is about is looked up
ABSENT: Final = {
    ("POST", "/v1/wrappers"): "Look at upstreamUrl. It cannot be called: name_not_found.",
    ("PATCH", "/v1/wrappers/{id}"): "not_found",
    ("POST", "/v1/automations"): "automation_unavailable",
    ("POST", "/v1/automations/preview"): "automation_unavailable",
    ("POST", "/v1/payments/{transaction}/refund"): "not_found",
    **{
        ("POST", f"/v1/automations/{{id}}/{verb}"): "not_found"
        for verb in ("payment", "topup", "activate", "pause", "resume", "cancel")
    },
}
ROUTES: Final = {(each.method, each.path): each for each in documented_routes()}
ENDS: Final = ("POST", "/v1/auth/logout")  # the session of the others: it comes last
Served = tuple[AsgiClient, Mapping[str, str]]


@pytest.fixture(scope="module")
async def served(stage_networks: Networks, module_database: str) -> AsyncIterator[Served]:
    environment = environment_for(stage_networks, module_database, **VAULT_SETTING)
    async with service(environment) as client, Database(Secret(module_database)) as database:
        yield client, (await sign_in_wallet(database)).headers


async def send(served: Served, route: RouteDeclaration, records: Mapping[str, str]) -> Answer:
    """Send the example of a route, about a record of the caller where the path has one."""
    client, headers = served
    body = msgspec.json.encode(route.example.request)
    folder = route.path.split("/{", maxsplit=1)[0]
    path = re.sub(r"{\w+}", records.get(folder, "auto_" + "0" * 22), route.path)
    sent = {"content-type": "application/json", **headers}
    return await client.request(route.method, path, body=body, headers=sent)


def is_taken(route: RouteDeclaration, answer: Answer) -> bool:
    """Whether the example was taken, but for what is cut from it or is not on the stage."""
    said, body = ABSENT.get((route.method, route.path)), answer.body.decode()
    if CUT in str(route.example.request):
        return any(each in body for each in CUT_ONLY)
    return answer.status == route.example.status if said is None else said in body


async def test_every_request_of_the_schema_is_taken_as_it_stands(served: Served) -> None:
    records: dict[str, str] = {}
    refused = {}
    bodies = [each for each in ROUTES.values() if each.request is not None]
    for route in sorted(bodies, key=lambda each: ((each.method, each.path) == ENDS, each.path)):
        answer = await send(served, route, records)
        if answer.status == 201 and "{" not in route.path:
            records[route.path] = answer.json()["id"]
        if not is_taken(route, answer):
            refused[f"{route.method} {route.path}"] = (answer.status, answer.body[:400])
    assert refused == {}


async def test_control_an_example_with_a_wrong_checksum_is_not_taken(served: Served) -> None:
    route = ROUTES["POST", "/v1/auth/challenge"]
    request = route.example.request
    assert isinstance(request, dict)
    wrong = request | {"address": request["address"][:-4] + "KMK3"}
    route = replace(route, example=replace(route.example, request=wrong))
    assert not is_taken(route, await send(served, route, {}))


def test_every_address_of_the_schema_and_of_the_pages_is_one() -> None:
    texts = {path.name: path.read_text() for path in (ROOT / "docs").rglob("*.md")}
    for route in ROUTES.values():
        example = (route.example.request, route.example.response)
        texts[f"{route.method} {route.path}"] = msgspec.json.encode(example).decode()
    found = {(name, each) for name, text in texts.items() for each in ADDRESS.findall(text)}
    assert len(found) > 20
    assert {(name, each) for name, each in found if parse_party(each) is None} == set()
