"""What a crawler of the gateway's documents calls a fault: a document that lacks it is found."""

import copy
import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from e2e.crawler import CONTACT, Origin, Wanted, crawl_faults
from farebox.gateway.offers.discovery_block import build_discovery_block
from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.origin.documents import ListedWrapper, build_openapi, build_well_known
from farebox.gateway.wrappers.wrapper_fields import make_settings
from farebox.kernel.networks import Network
from farebox.kernel.slots import Share
from farebox.stellar.asset_contract import usdc_contract
from support.wrappers import wrapper_fields

GATEWAY: Final = GatewayUrl("https://pay.example.com")
BASE: Final = "/gateway/weather"
CITY: Final = "/gateway/weather/city/{name}"
ALERTS: Final = "/gateway/weather/alerts"
BODY: Final = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ROUTES: Final = [
    {"method": "GET", "path": "/city/:name", "amount": "5"},
    {"method": "POST", "path": "/alerts", "amount": "5", "input": BODY},
]
WANTED: Final = Wanted(
    paths=(BASE, CITY, ALERTS),
    bodies={ALERTS: BODY},
    statuses={("GET", BASE): {400, 402, 429}, ("GET", CITY): {402, 503}},
)


def origin() -> Origin:
    """The documents and terms of a wrapper with two routes, as the gateway makes them."""
    fields = wrapper_fields(asset=usdc_contract(Network.TESTNET), routes=ROUTES)
    wrapper = ListedWrapper("weather", make_settings(fields), Share("a seller"))
    routes = wrapper.settings.routes
    blocks = {
        path: build_discovery_block(method, route, slug="weather", prefix="/gateway")
        for path, method, route in (
            (BASE, "GET", None), (CITY, "GET", routes[0]), (ALERTS, "POST", routes[1]),
        )
    }  # fmt: skip
    return Origin(
        json.loads(build_openapi([wrapper], GATEWAY, version="1", contact=CONTACT).body),
        json.loads(build_well_known([wrapper], GATEWAY).body),
        {path: {"extensions": {"bazaar": block}} for path, block in blocks.items()},
    )


def test_documents_of_the_gateway_have_no_fault() -> None:
    assert crawl_faults(origin(), WANTED) == []


def of(document: dict[str, Any], path: str = BASE, method: str = "get") -> dict[str, Any]:
    """Return an operation."""
    operation: dict[str, Any] = document["paths"][path][method]
    return operation


def schema_of(terms: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the input of a block."""
    found: dict[str, Any] = terms["extensions"]["bazaar"]["schema"]["properties"]["input"]
    return found


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda o: o.well_known["resources"].pop(), "not in the list of URLs"),
        (
            lambda o: o.well_known["resources"].append(f"https://pay.example.com{BASE}/:id"),
            "no template in braces",
        ),
        (lambda o: o.openapi.pop("security"), "security of the document"),
        (lambda o: o.openapi["info"].pop("contact"), "info.contact"),
        (lambda o: of(o.openapi)["parameters"].clear(), "no schema of what it takes"),
        (lambda o: of(o.openapi)["parameters"][0].pop("schema"), "without a schema"),
        (lambda o: of(o.openapi, CITY)["parameters"].pop(0), "parameters of the path"),
        (lambda o: of(o.openapi).update(security=[{"key": []}]), "security [{"),
        (lambda o: of(o.openapi)["x-payment-info"]["price"].update(amount="0.0000000"), "price"),
        (lambda o: of(o.openapi, ALERTS, "post")["requestBody"].update(required=False), "body"),
        (
            lambda o: of(o.openapi, ALERTS, "post")["requestBody"]["content"].update(
                {"application/json": {"schema": {"type": "object"}}}
            ),
            "body",
        ),
        (lambda o: of(o.openapi)["responses"].pop("400"), "without a response: [400]"),
        (lambda o: of(o.openapi, CITY)["responses"].pop("503"), "without a response: [503]"),
        (lambda o: o.terms[BASE].pop("extensions"), "no bazaar block"),
        (
            lambda o: schema_of(o.terms[BASE])["properties"].pop("queryParams"),
            "no schema of an object for queryParams",
        ),
        (
            lambda o: schema_of(o.terms[ALERTS])["properties"].update(body={"type": "object"}),
            f"402 of {ALERTS}: body",
        ),
        (
            lambda o: o.terms[BASE]["extensions"]["bazaar"]["info"]["input"].pop("method"),
            "PyPI x402 refuses",
        ),
    ],
)
def test_control_document_or_terms_that_lack_a_part_are_a_fault(
    damage: Callable[[Origin], object], fault: str
) -> None:
    damaged = copy.deepcopy(origin())
    damage(damaged)
    [found] = crawl_faults(damaged, WANTED)
    assert fault in found
