"""The origin documents of the gateway."""

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest

from farebox import gateway
from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.origin import divide_bytes, documents
from farebox.gateway.origin.documents import (
    ListedWrapper,
    OriginDocument,
    build_openapi,
    build_well_known,
    format_usd,
)
from farebox.gateway.wrappers.wrapper_fields import make_settings
from farebox.kernel.networks import Network
from farebox.kernel.slots import Share
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


def listed(slug: str = "weather", *, share: Share | None = None, **members: Any) -> ListedWrapper:
    own = {"asset": USDC, "tags": ["weather"], "description": "Of cities."}
    settings = make_settings(wrapper_fields(**(own | members)))
    return ListedWrapper(slug, settings, Share("a seller") if share is None else share)


def openapi(*wrappers: ListedWrapper) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(
        build_openapi(wrappers, GATEWAY, version="1", contact=None).body
    )
    return decoded


def built(*wrappers: ListedWrapper, is_cut: bool = False) -> list[OriginDocument]:
    return [
        build_openapi(wrappers, GATEWAY, version="1", contact=None, is_cut=is_cut),
        build_well_known(wrappers, GATEWAY, is_cut=is_cut),
    ]


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
    for document in built(wrapper):
        assert b"api.example.com" not in document.body


def test_etag_changes_with_the_document_only() -> None:
    one, again = (build_well_known([listed()], GATEWAY) for _ in range(2))
    assert one == again
    assert build_well_known([listed("other")], GATEWAY).etag != one.etag


def test_documents_are_bounded_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_BYTES", 20_000)
    many = [listed(f"wrapper-{number}") for number in range(600)]
    for document in built(*many):
        assert len(document.body) < 21_000
    shown = openapi(*many)
    assert list(shown["paths"]) == [f"/gateway/wrapper-{n}" for n in range(len(shown["paths"]))]
    assert (10 < len(shown["paths"]) < 40, shown["x-truncated"]) == (True, True)
    named = json.loads(build_well_known(many, GATEWAY).body)
    assert (300 < len(named["resources"]) < 600, named["isTruncated"]) == (True, True)


def test_whole_document_has_no_mark_and_one_of_some_wrappers_has_it() -> None:
    for document in built(listed()):
        assert b"runcated" not in document.body
    for document in built(listed(), is_cut=True):
        assert b'runcated":true' in document.body


LARGE: Final = [
    {"method": "GET", "path": f"/{n}", "input": {"type": "object", "title": "x" * 1_900}}
    for n in range(32)
]


def flood(*, are_new: bool = False) -> list[ListedWrapper]:
    """The wrappers of five owners, each with more than a document takes."""
    return [
        listed(f"large-{n}", routes=LARGE, share=Share(f"hostile {n % 5}", are_new))
        for n in range(100)
    ]


@pytest.mark.parametrize("are_new", [False, True])
@pytest.mark.parametrize("is_new", [False, True])
def test_owners_whose_wrappers_fill_the_documents_leave_others_their_share(
    *, are_new: bool, is_new: bool
) -> None:
    honest = [listed(f"honest-{n}", routes=ROUTES, share=Share("h", is_new)) for n in range(20)]
    shown = openapi(*flood(are_new=are_new), *honest)  # all are older than those of the flood
    paths = [each.split("/")[2] for each in shown["paths"]]
    assert {each for each in paths if "honest" in each} == {f"honest-{n}" for n in range(20)}
    assert paths == sorted(paths, key=lambda each: ("honest" in each, int(each.split("-")[1])))
    assert shown["x-truncated"] is True
    assert len(paths) > 1_000


def test_control_documents_without_shares_leave_the_older_wrappers_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(divide_bytes, "_in_turn", chain.from_iterable)
    shown = openapi(*flood(), listed("honest", share=Share("h")))
    assert not any("honest" in each for each in shown["paths"])


def test_documents_show_nothing_of_the_owner() -> None:
    for document in built(listed(share=Share("user_a")), listed("b", share=Share("203.0.113.9"))):
        assert b"user_a" not in document.body
        assert b"203.0" not in document.body


@pytest.mark.parametrize(
    ("amount", "text"), [(1, "0.0000001"), (10_000, "0.0010000"), (123_456_789, "12.3456789")]
)
def test_amount_is_formatted_with_seven_decimals(amount: int, text: str) -> None:
    assert format_usd(amount) == text
