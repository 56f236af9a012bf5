"""The bounds that the API schema states of parameters are those that the service holds to."""

import copy
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import sign_in_wallet
from support.stage import environment_for, service
from support.stage_fixtures import Networks
from support.vault import VAULT_SETTING

Json = dict[str, Any]


Bounded = tuple[AsgiClient, Json, Json]


@pytest.fixture(scope="module")
async def bounded(stage_networks: Networks, module_database: str) -> AsyncIterator[Bounded]:
    """A service, the session of a wallet, and the paths of its schema."""
    environment = environment_for(stage_networks, module_database, **VAULT_SETTING)
    async with service(environment) as client, Database(Secret(module_database)) as database:
        paths = (await client.get("/v1/openapi.json")).json()["paths"]
        yield client, (await sign_in_wallet(database)).headers, paths


def beyond(schema: Json) -> Iterator[str]:
    """Values just outside what a schema takes."""
    if "enum" in schema:
        yield "another"
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
    if schema["type"] == "integer":
        yield from (str(schema["minimum"] - 1), str(schema["maximum"] + 1), "1.5", "one")
    if schema.get("format") == "date":
        yield "2026-13-01"


def within(schema: Json) -> Iterator[str]:
    """Values at the ends of what a schema takes."""
    yield from schema.get("enum", ())
    if schema["type"] == "integer":
        yield from (str(schema["minimum"]), str(schema["maximum"]))


Values = Callable[[Json], Iterator[str]]


def requests(paths: Json, values: Values) -> Iterator[tuple[str, str]]:
    """A request for each value of each parameter of a query string: its method and its URL."""
    for path, operations in paths.items():
        at = path.replace("{network}", "stellar:testnet").replace("{", "").replace("}", "")
        for method, operation in operations.items():
            declared = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
            for one in declared:
                needed = [f"{each['name']}=x" for each in declared if each["required"]]
                others = [each for each in needed if each != f"{one['name']}=x"]
                for value in values(one["schema"]):
                    given = [*others, f"{one['name']}={quote(value)}"]
                    yield method.upper(), f"{at}?{'&'.join(given)}"


async def statuses(client: AsgiClient, headers: Json, paths: Json, values: Values) -> Json:
    """The status of each of these requests."""
    return {
        f"{method} {url[:100]}": (await client.request(method, url, headers=headers)).status
        for method, url in requests(paths, values)
    }


async def test_every_parameter_beyond_its_bound_is_refused(bounded: Bounded) -> None:
    found = await statuses(*bounded, beyond)
    assert len(found) >= 100
    assert {url: status for url, status in found.items() if status != 400} == {}


async def test_every_parameter_at_its_bound_is_taken(bounded: Bounded) -> None:
    """404 is of a record in the path, which is looked up after the query string was read.

    403 is of a network that the session is not of.
    """
    found = await statuses(*bounded, within)
    others = {url: status for url, status in found.items() if status not in {200, 404}}
    assert {url for url, status in others.items() if status != 403 or "pubnet" not in url} == set()


async def test_control_a_bound_that_nothing_enforces_is_detected(bounded: Bounded) -> None:
    client, headers, paths = bounded
    wrong = {"/discovery/resources": copy.deepcopy(paths["/discovery/resources"])}
    named = {each["name"]: each for each in wrong["/discovery/resources"]["get"]["parameters"]}
    named["scheme"]["schema"]["maxLength"] -= 1
    found = await statuses(client, headers, wrong, beyond)
    assert [url[:35] for url, status in found.items() if status != 400] == [
        "GET /discovery/resources?scheme=xxx"
    ]
