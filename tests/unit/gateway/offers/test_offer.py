"""The offer of a wrapper."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from x402.http.utils import decode_payment_required_header

from farebox.catalog.discovery.discovered_resource import DiscoveredResource, parse_discovery
from farebox.catalog.discovery.route_template import RouteTemplate
from farebox.gateway.offers.offer import MAX_HEADER_CHARS, GatewayUrl, WrapperOffer, build_offer
from farebox.gateway.wrapper import PricedCall, PricedRoute, Wrapper, WrapperSettings, price_call
from farebox.gateway.wrappers.wrapper_fields import make_settings
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import OwnerId
from farebox.x402.extensions import PAYMENT_IDENTIFIER_DECLARATION
from support.wrappers import ASSET, OTHER_ASSET, PAY_TO, wrapper_fields

GATEWAY: Final = GatewayUrl("https://pay.example.com")
AT: Final = datetime(2026, 11, 23, tzinfo=UTC)
SCHEMA: Final = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}'


def wrapper(settings: WrapperSettings | None = None) -> Wrapper:
    settings = settings or make_settings(wrapper_fields(description="Weather.", tags=["weather"]))
    return Wrapper("wrp_1", OwnerId("user_1"), "weather", settings, True, False, 1, AT, AT)


def offer(
    settings: WrapperSettings | None = None, *, method: str = "GET", path: str = ""
) -> WrapperOffer:
    own = wrapper(settings)
    call = price_call(own.settings, method, path or "/")
    assert isinstance(call, PricedCall)
    return build_offer(own.slug, own.settings, call, GATEWAY, method=method, path=path)


def with_route(route: PricedRoute) -> WrapperSettings:
    return replace(wrapper().settings, routes=(route,))


def listed(made: WrapperOffer) -> DiscoveredResource:
    """The resource as the catalog reads it from the offer."""
    text = json.dumps({"resource": made.resource, "bazaar": made.discovery}).encode()
    parsed = parse_discovery(text, pay_to=Address(PAY_TO))
    assert isinstance(parsed, DiscoveredResource), parsed
    assert parsed.dropped == ()
    return parsed


def test_offer_names_the_terms_and_the_resource() -> None:
    assert offer().to_json("Payment required") == {
        "x402Version": 2,
        "error": "Payment required",
        "resource": {
            "url": "https://pay.example.com/gateway/weather",
            "description": "Weather.",
            "mimeType": "application/json",
            "serviceName": "City weather",
            "tags": ["weather"],
        },
        "accepts": (
            {
                "scheme": "exact",
                "network": "stellar:testnet",
                "asset": ASSET,
                "amount": "10000",
                "payTo": PAY_TO,
                "maxTimeoutSeconds": 60,
                "extra": {"areFeesSponsored": True, "paymentFlow": "upfront"},
            },
        ),
        "extensions": {
            "bazaar": offer().discovery,
            "payment-identifier": PAYMENT_IDENTIFIER_DECLARATION,
        },
    }


def test_header_and_body_hold_the_same_object_and_a_stock_client_reads_it() -> None:
    made = offer()
    decoded = json.loads(base64.b64decode(made.header(), validate=True))
    assert decoded == json.loads(made.body())
    required = decode_payment_required_header(made.header())
    assert [each.pay_to for each in required.accepts] == [PAY_TO]


def test_offer_is_the_same_for_every_request() -> None:
    assert offer(path="/a").header() == offer(path="/a").header()


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_catalog_accepts_the_discovery_block_of_every_method(method: str) -> None:
    settings = replace(wrapper().settings, method=method)  # type: ignore[arg-type]  # one of the five
    resource = listed(offer(settings, method=method)).resource
    assert (resource.method, resource.url) == (method, "https://pay.example.com/gateway/weather")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_catalog_lists_a_route_under_its_template_with_its_parameters(method: str) -> None:
    route = PricedRoute(
        method,  # type: ignore[arg-type]  # one of the five
        RouteTemplate("/city/:name"),
        BaseUnits(5),
        description="Of one city.",
        input_schema=SCHEMA,
        output_schema='{"type":"object","properties":{"degrees":{"type":"number"}}}',
    )
    made = offer(with_route(route), method=method, path="/city/oslo")
    resource = listed(made).resource
    assert resource.url == "https://pay.example.com/gateway/weather/city/:name"
    assert resource.metadata.description == "Of one city."
    assert {"city", "degrees"} <= set(resource.parameters.split())
    assert [each["amount"] for each in made.requirements] == ["5"]


def test_route_at_the_wrapper_s_own_path_has_no_template() -> None:
    made = offer(with_route(PricedRoute("POST", RouteTemplate("/"))), method="POST")
    assert "routeTemplate" not in made.discovery
    assert listed(made).resource.method == "POST"


def test_path_of_the_request_is_part_of_the_resource_url_unless_it_is_long() -> None:
    assert offer(path="/a%20b").resource["url"].endswith("/gateway/weather/a%20b")
    assert offer(path="/").resource["url"].endswith("/gateway/weather")
    assert offer(path="/" + "a" * 600).resource["url"].endswith("/gateway/weather")


def test_largest_offer_stays_below_eight_kilobytes() -> None:
    terms: list[dict[str, Any]] = [
        {"network": network, "asset": asset, "amount": "9" * 38, "payTo": PAY_TO}
        for network in ("stellar:testnet", "stellar:pubnet")
        for asset in (ASSET, OTHER_ASSET)
    ]
    short = dict.fromkeys(("network", "asset", "amount", "pay_to"))
    texts = {
        "name": "n" * 32,
        "description": "d" * 500,
        "tags": [f"{n}" + "t" * 31 for n in "12345"],
    }
    settings = make_settings(wrapper_fields(**short, accepts=terms, **texts))
    assert len(offer(settings, path="/" + "p" * 511).header()) < MAX_HEADER_CHARS
