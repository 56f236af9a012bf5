"""What a crawler reads of a gateway: its documents, and the terms of what they name.

The terms are judged by PyPI `x402`. An operation is listed with a schema of what it takes, and with
every status that the gateway has given for it in this run.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from x402.extensions.bazaar import validate_discovery_extension

CONTACT: Final = "https://operator.example/contact"
_PAYMENT: Final = "x-payment-info"
_WANTED_PRICE: Final = "USD"
_TEMPLATE: Final = "{"
_NAME: Final = "lima"  # of a template's parameter

Json = dict[str, Any]
Operation = tuple[str, str]  # a method and a path of the document


@dataclass(frozen=True, slots=True)
class Origin:
    """The documents of an origin, and the decoded terms of what its list of URLs names."""

    openapi: Json
    well_known: Json
    terms: Mapping[str, Json]  # by the path of a resource


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the documents must have: schemas of bodies by path, and the statuses that were given."""

    paths: Sequence[str]  # templates in braces
    bodies: Mapping[str, Json]
    statuses: Mapping[Operation, set[int]]


async def crawl(url: str) -> Origin:
    """Read the documents of a service, and ask for each resource without a payment."""
    async with aiohttp.ClientSession(url) as session:
        async with session.get("/openapi.json") as response:
            openapi = await response.json()
        async with session.get("/.well-known/x402") as response:
            well_known = await response.json()
        terms = {}
        for resource in well_known["resources"]:
            path = urlsplit(resource).path
            method = next(iter(openapi["paths"][path]))
            asked = path.replace("{name}", _NAME)
            async with session.request(method, asked, json={}) as response:
                header = response.headers["payment-required"]
            terms[path] = json.loads(base64.b64decode(header))
    return Origin(openapi, well_known, terms)


def crawl_faults(origin: Origin, wanted: Wanted) -> list[str]:
    """Return what a crawler would reject, and what the documents leave out."""
    named = {urlsplit(each).path for each in origin.well_known["resources"]}
    faults = [f"not in the list of URLs: {each}" for each in wanted.paths if each not in named]
    faults += [f"no template in braces: {each}" for each in named if "/:" in each]
    document = origin.openapi
    if document.get("security") != []:
        faults.append(f"security of the document: {document.get('security')}")
    if document["info"].get("contact") != {"url": CONTACT}:
        faults.append(f"info.contact: {document['info'].get('contact')}")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            faults += [f"{method} {path}: {each}" for each in _flaws(path, operation, wanted)]
    for path, terms in origin.terms.items():
        faults += [f"402 of {path}: {each}" for each in _flaws_of_terms(terms, wanted, path)]
    return [*faults, *_undocumented(document, wanted.statuses)]


def _flaws(path: str, operation: Json, wanted: Wanted) -> Iterator[str]:
    price = operation[_PAYMENT]["price"]
    if price["currency"] != _WANTED_PRICE or float(price["amount"]) <= 0:
        yield f"price {price}"
    if operation.get("security"):
        yield f"security {operation['security']}"
    parameters = operation.get("parameters", [])
    body = operation.get("requestBody")
    if not body and not any(each["in"] == "query" for each in parameters):
        yield "no schema of what it takes"
    if any(not isinstance(each.get("schema"), dict) for each in parameters):
        yield f"a parameter without a schema: {parameters}"
    in_path = {each["name"] for each in parameters if each["in"] == "path"}
    if {each.rstrip("}") for each in path.split(_TEMPLATE)[1:]} != in_path:
        yield f"parameters of the path: {in_path}"
    if path in wanted.bodies:
        schema = body["content"]["application/json"]["schema"] if body else None
        if not body or body["required"] is not True or schema != wanted.bodies[path]:
            yield f"body {body}"


def _flaws_of_terms(terms: Json, wanted: Wanted, path: str) -> Iterator[str]:
    block = (terms.get("extensions") or {}).get("bazaar")
    if not block:
        yield "no bazaar block"
        return
    judged = validate_discovery_extension(block)
    if not judged.valid:
        yield f"PyPI x402 refuses the block: {judged.errors}"
    given = block["schema"]["properties"]["input"]["properties"]
    if path in wanted.bodies:
        if given["body"] != wanted.bodies[path]:
            yield f"body {given['body']}"
    elif given.get("queryParams", {}).get("type") != "object":
        yield f"no schema of an object for queryParams: {given}"


def _undocumented(document: Json, statuses: Mapping[Operation, set[int]]) -> Iterator[str]:
    for (method, path), given in statuses.items():
        responses = document["paths"].get(path, {}).get(method.lower(), {}).get("responses", {})
        if missing := sorted(each for each in given if str(each) not in responses):
            yield f"{method} {path}: statuses without a response: {missing}"
