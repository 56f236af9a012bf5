"""The origin documents of the gateway."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from farebox import gateway
from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.origin import documents
from farebox.gateway.origin.documents import (
    ListedWrapper,
    build_openapi,
    build_well_known,
    format_usd,
)
from farebox.gateway.wrappers.wrapper_fields import make_settings
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import usdc_contract
from farebox.web.error_responses import EARLY_CODES
from support.wrappers import OTHER_ASSET, wrapper_fields

GATEWAY: Final = GatewayUrl("https://pay.example.com")
USDC: Final = usdc_contract(Network.TESTNET)
QUERY: Final = {
    "type": "object",
    "properties": {"units": {"type": "string"}, "name": {"type": "string"}},
    "required": ["units"],
}
ROUTES: Final = [
    {"method": "GET", "path": "/city/:name", "amount": "5", "input": QUERY},
    {"method": "POST", "path": "/report", "output": {"type": "array"}, "description": "Long."},
]


def listed(slug: str = "weather", **members: Any) -> ListedWrapper:
    own = {"asset": USDC, "tags": ["weather"], "description": "Of cities."}
    return ListedWrapper(slug, make_settings(wrapper_fields(**(own | members))))


def openapi(*wrappers: ListedWrapper) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(
        build_openapi(wrappers, GATEWAY, version="1", contact=None).body
    )
    return decoded


def resources(*wrappers: ListedWrapper) -> list[str]:
    decoded = json.loads(build_well_known(wrappers, GATEWAY).body)
    assert decoded["version"] == 1
    urls: list[str] = decoded["resources"]
    return urls


def test_operation_has_its_price_in_both_forms() -> None:
    document = openapi(listed())
    assert document["servers"] == [{"url": "https://pay.example.com"}]
    (path,) = document["paths"]
    operation = document["paths"][path]["get"]
    assert path == "/gateway/weather"
    assert (operation["summary"], operation["description"], operation["tags"]) == (
        "City weather", "Of cities.", ["weather"],
    )  # fmt: skip
    assert operation["x-payment-info"] == {
        "price": {"mode": "fixed", "currency": "USD", "amount": "0.0010000"},
        "protocols": [{"x402": {}}],
    }
    assert operation["x-stellar-payment"] == {
        "network": "stellar:testnet",
        "asset": USDC,
        "amount": "10000",
        "decimals": 7,
        "scheme": "exact",
        "areFeesSponsored": True,
    }


def test_every_status_of_the_gateway_is_declared_once() -> None:
    document = openapi(listed(routes=ROUTES))
    shared = document["components"]["responses"]
    for path in document["paths"].values():
        for operation in path.values():
            references = {name: {"$ref": f"#/components/responses/{name}"} for name in shared}
            ok = operation["responses"].pop("200")
            assert (operation["responses"], ok["description"]) == (
                references, "The response of the API.",
            )  # fmt: skip
    assert {"400", "402", "404", "405", "408", "409", "413", "414", "421", "429", "431"} <= (
        shared.keys()
    )
    assert {"500", "502", "503", "504", "default"} <= shared.keys()
    assert "`" not in shared["400"]["description"]
    assert "not_forwarded" in shared["400"]["description"]
    assert shared["402"]["headers"].keys() == {"PAYMENT-REQUIRED"}
    assert document["components"]["schemas"].keys() == {"Error"}


def test_codes_that_the_gateway_answers_with_are_those_of_its_modules() -> None:
    """A code that a module on the way of a paid request names has its status in the document."""
    folder = Path(gateway.__file__).parent
    names = ("http", "respond", "responses", "past_purchases", "upstream_credentials")
    files = [folder / f"{name}.py" for name in names]
    files += [*folder.glob("delivery/*.py"), *folder.glob("relay/*.py")]
    used = {
        name for file in files for name in re.findall(r"ErrorCode\.([A-Z_]+)", file.read_text())
    }
    assert len(used) > 10
    used |= {code.name for code in EARLY_CODES}
    assert used <= {code.name for code in documents.GATEWAY_CODES}


def test_document_names_the_contact_and_needs_no_credential() -> None:
    def info(contact: str | None) -> dict[str, Any]:
        document = json.loads(build_openapi([], GATEWAY, version="1", contact=contact).body)
        assert document["security"] == []
        shown: dict[str, Any] = document["info"]
        return shown

    assert "contact" not in info(None)
    assert info("https://example.com/help")["contact"] == {"url": "https://example.com/help"}
    assert info("pay@example.com")["contact"] == {"email": "pay@example.com"}


def test_operation_without_an_input_takes_any_query() -> None:
    (path,) = openapi(listed())["paths"].values()
    assert path["get"]["parameters"] == [
        {
            "name": "queryParams",
            "in": "query",
            "required": False,
            "style": "form",
            "explode": True,
            "schema": {"type": "object"},
        }
    ]


def test_body_with_a_required_member_is_required() -> None:
    routes: list[dict[str, Any]] = [
        {"method": "POST", "path": "/a", "input": {"type": "object", "required": ["city"]}},
        {"method": "POST", "path": "/b"},
    ]
    paths = openapi(listed(routes=routes, other_paths="refused"))["paths"]
    named = paths["/gateway/weather/a"]["post"]["requestBody"]
    assert named["required"] is True
    assert named["content"]["application/json"]["schema"] == routes[0]["input"]
    assert paths["/gateway/weather/b"]["post"]["requestBody"]["required"] is False


def test_colon_inside_a_segment_is_no_parameter() -> None:
    routes = [{"method": "GET", "path": "/models:count/:name"}]
    wrapper = listed(routes=routes, other_paths="refused")
    assert resources(wrapper) == ["https://pay.example.com/gateway/weather/models:count/{name}"]
    (path,) = openapi(wrapper)["paths"].items()
    assert path[0] == "/gateway/weather/models:count/{name}"
    assert [each["name"] for each in path[1]["get"]["parameters"]] == ["name", "queryParams"]


def test_routes_that_differ_in_the_names_of_parameters_are_one_path() -> None:
    routes = [{"method": "GET", "path": "/a/:x"}, {"method": "POST", "path": "/a/:y"}]
    wrapper = listed(routes=routes, other_paths="refused")
    assert resources(wrapper) == ["https://pay.example.com/gateway/weather/a/{x}"]
    (path,) = openapi(wrapper)["paths"].items()
    assert path[0] == "/gateway/weather/a/{x}"
    assert path[1].keys() == {"get", "post"}
    for operation in path[1].values():
        names = [each["name"] for each in operation["parameters"] if each["in"] == "path"]
        assert names == ["x"]


def test_route_has_its_parameters_its_body_and_its_response() -> None:
    paths = openapi(listed(routes=ROUTES))["paths"]
    assert paths.keys() == {
        "/gateway/weather",
        "/gateway/weather/city/{name}",
        "/gateway/weather/report",
    }
    city = paths["/gateway/weather/city/{name}"]["get"]
    assert [(each["name"], each["in"], each["required"]) for each in city["parameters"]] == [
        ("name", "path", True),
        ("units", "query", True),
    ]
    assert city["x-payment-info"]["price"]["amount"] == "0.0000005"
    report = paths["/gateway/weather/report"]["post"]
    assert report["description"] == "Long."
    assert report["requestBody"]["content"]["application/json"]["schema"] == {"type": "object"}
    assert report["responses"]["200"]["content"]["application/json"]["schema"] == {"type": "array"}


def test_wrapper_that_refuses_other_paths_shows_its_routes_alone() -> None:
    assert resources(listed(routes=ROUTES, other_paths="refused")) == [
        "https://pay.example.com/gateway/weather/city/{name}",
        "https://pay.example.com/gateway/weather/report",
    ]


def test_price_in_another_token_is_left_out() -> None:
    other = listed("other", asset=OTHER_ASSET)
    assert resources(other, listed()) == ["https://pay.example.com/gateway/weather"]
    assert openapi(other)["paths"] == {}


def test_operation_ids_differ() -> None:
    wrappers = [listed("a-b", routes=ROUTES), listed("a-b-c"), listed("ab")]
    operations = [each for path in openapi(*wrappers)["paths"].values() for each in path.values()]
    assert len({each["operationId"] for each in operations}) == len(operations) == 5


def test_documents_show_nothing_of_the_upstream() -> None:
    wrapper = listed(routes=ROUTES)
    for document in (
        build_openapi([wrapper], GATEWAY, version="1", contact=None),
        build_well_known([wrapper], GATEWAY),
    ):
        assert b"api.example.com" not in document.body


def test_etag_changes_with_the_document_only() -> None:
    one, again = (build_well_known([listed()], GATEWAY) for _ in range(2))
    assert one == again
    assert build_well_known([listed("other")], GATEWAY).etag != one.etag


def test_documents_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [listed(f"wrapper-{number}") for number in range(1_100)]
    assert len(resources(*many)) == documents.MAX_WRAPPERS
    monkeypatch.setattr(documents, "MAX_BYTES", 20_000)
    document = build_openapi(many, GATEWAY, version="1", contact=None)
    assert 10 < len(json.loads(document.body)["paths"]) < 40
    assert len(document.body) < 21_000


@pytest.mark.parametrize(
    ("amount", "text"), [(1, "0.0000001"), (10_000, "0.0010000"), (123_456_789, "12.3456789")]
)
def test_amount_is_formatted_with_seven_decimals(amount: int, text: str) -> None:
    assert format_usd(amount) == text
