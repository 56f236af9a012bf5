"""`POST /v1/discovery/validate`: a report on what would be listed, and nothing is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import structlog
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.catalog.discovery.drop_reason import DropReason
from farebox.catalog.origin.offers import Offer, Offers, Origin, OriginSilent, Silence
from farebox.catalog.validate import SENTENCES, Fault, Validation
from farebox.catalog.validate_http import TURNS, VALIDATE, validate_routes
from farebox.ingress.limiter import Limiter, Turns
from farebox.ingress.limits import Limit
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from farebox.web.errors import ErrorEdge
from farebox.web.request_log import RequestLog
from support.asgi import Answer, AsgiClient
from support.discovery import SELLER, http_info, schema_of, tool_info
from support.manual_clock import ManualClock
from support.outbound import URL, seller
from support.stage import Stage
from support.upstream import answers

ASSET: Final = Address("CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA")
CITY: Final = "https://api.weather.example/v1/paris"
BAZAAR: Final[dict[str, Any]] = {"info": http_info(), "schema": schema_of(http_info())}
OFFER: Final = Offer(Network.TESTNET, ASSET, BaseUnits(10_000), SELLER)
Json = dict[str, Any]


class Resources:
    """What each URL answers when it is asked; the others are silent."""

    def __init__(self, said: Mapping[str, Offers | OriginSilent]) -> None:
        self.said, self.asked = said, list[tuple[str, str | None]]()

    async def offers(self, url: str, *, method: str | None) -> Offers | OriginSilent:
        self.asked.append((url, method))
        return self.said.get(url, OriginSilent(Silence.UNREACHABLE, "resolving"))


def app(database: Database, clock: ManualClock, origins: Any, *, address: str) -> AsgiClient:
    """The one route, as asked from an address."""
    turns = Turns(Limiter(database, clock), Limit("validate", TURNS))
    router = Router(validate_routes(Validation(origins), turns))
    edge = RequestLog(ErrorEdge(router, {}), structlog.get_logger().bind())

    async def from_address(scope: Scope, receive: Receive, send: Send) -> None:
        await edge({**scope, "client": (address, 1), "app": None}, receive, send)

    served: ASGIApp = from_address
    return AsgiClient(served)


@pytest.fixture
def resources() -> Resources:
    return Resources({})


@pytest.fixture
def client(database: Database, clock: ManualClock, resources: Resources) -> AsgiClient:
    return app(database, clock, resources, address="203.0.113.7")


async def report(client: AsgiClient, body: object) -> Json:
    answer = await client.post(VALIDATE, body)
    assert answer.status == 200, answer.body
    return answer.json()


def codes(told: Json) -> list[str]:
    return [reason["code"] for reason in told["reasons"]]


def payment_required(**changes: Any) -> bytes:
    return msgspec.json.encode(
        {
            "x402Version": 2,
            "resource": {"url": CITY, "description": "Weather"},
            "accepts": [],
            "extensions": {"bazaar": {**BAZAAR, "routeTemplate": "/v1/:city"}},
            **changes,
        }
    )


async def test_good_metadata_is_shown_as_it_would_be_listed(client: AsgiClient) -> None:
    resource = {"url": f"{CITY}?now=1", "serviceName": "Weather", "tags": ["a"], "iconUrl": "x"}
    bazaar = {**BAZAAR, "routeTemplate": "/v1/:city"}
    told = await report(client, {"resource": resource, "extensions": {"bazaar": bazaar}})
    assert told == {
        "isValid": True,
        "reasons": [],
        "warnings": [
            {
                "field": "iconUrl",
                "message": "iconUrl must be an http or https URL of a public host, "
                "at most 2048 characters.",
            }
        ],
        "key": "https://api.weather.example/v1/{}",
        "listing": {
            "resource": "https://api.weather.example/v1/:city",
            "type": "http",
            "x402Version": 2,
            "serviceName": "Weather",
            "tags": ["a"],
            "extensions": {"bazaar": bazaar},
            "method": "GET",
        },
    }


async def test_bad_metadata_is_reported_with_the_reason_a_settlement_would_get(
    client: AsgiClient,
) -> None:
    resource = {"url": "https://10.0.0.1/x"}
    told = await report(client, {"resource": resource, "extensions": {"bazaar": BAZAAR}})
    assert told["isValid"] is False
    assert codes(told) == [DropReason.RESOURCE_HOST_NOT_PUBLIC]
    assert "listing" not in told


async def test_a_whole_payload_is_judged_as_settle_would(client: AsgiClient) -> None:
    bazaar = {"info": tool_info(), "schema": schema_of(tool_info())}
    payload = {
        "x402Version": 2,
        "resource": {"url": "mcp://tool/weather"},
        "accepted": {"payTo": SELLER},
        "extensions": {"bazaar": bazaar},
        "payload": {"transaction": "AAAA"},
    }
    told = await report(client, {"paymentPayload": payload})
    assert told["key"] == f"mcp://tool/weather#weather@{SELLER}"
    requirements = {"payTo": SELLER}
    del payload["accepted"]
    told = await report(client, {"paymentPayload": payload, "paymentRequirements": requirements})
    assert told["key"].endswith(SELLER)
    told = await report(client, {"paymentPayload": payload})
    assert told["key"].endswith("@")


@pytest.mark.parametrize("extensions", [{}, {"bazaar": None}, {"other": {}}, [], 7])
async def test_a_payload_without_the_extension_is_reported(
    client: AsgiClient, extensions: object
) -> None:
    told = await report(client, {"resource": {"url": CITY}, "extensions": extensions})
    assert codes(told) == [Fault.BAZAAR_MISSING]


async def test_metadata_that_is_too_long_is_reported(client: AsgiClient) -> None:
    resource = {"url": CITY, "description": "x" * 70_000}
    told = await report(client, {"resource": resource, "extensions": {"bazaar": BAZAAR}})
    assert codes(told) == [DropReason.DISCOVERY_TOO_LARGE]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"url":7}',
        b'{"url":""}',
        b'{"url":"https://a.example/","resource":{}}',
        b'{"resource":{},"paymentPayload":{}}',
        b'{"paymentPayload":[]}',
        b'{"resource":' + b"[" * 9_000,
    ],
    ids=lambda body: repr(body)[:30],
)
async def test_a_question_that_names_nothing_is_a_400(client: AsgiClient, body: bytes) -> None:
    answer = await client.post(VALIDATE, body)
    assert answer.status == 400
    assert answer.json()["error"]["code"] == "invalid_validation_request"


async def test_a_url_is_asked_for_its_402(client: AsgiClient, resources: Resources) -> None:
    resources.said = {CITY: Offers((OFFER,), payment_required())}
    spelled = CITY.replace("https", "HTTPS") + "#top"
    told = await report(client, {"url": spelled, "method": "POST"})
    assert resources.asked == [(CITY, "POST")]
    assert told["isValid"] is True
    assert told["key"] == "https://api.weather.example/v1/{}"
    assert told["offers"] == [
        {
            "scheme": "exact",
            "network": "stellar:testnet",
            "asset": ASSET,
            "amount": "10000",
            "payTo": SELLER,
        }
    ]


async def test_a_url_whose_402_names_another_is_warned_of(
    client: AsgiClient, resources: Resources
) -> None:
    other = "https://api.weather.example/v2/paris"
    resources.said = {other: Offers((OFFER,), payment_required())}
    told = await report(client, {"url": other})
    assert told["warnings"] == [
        {
            "field": "resource.url",
            "message": f"resource.url names {CITY} and not the URL that was asked.",
        }
    ]


@pytest.mark.parametrize(
    ("document", "offers", "expected"),
    [
        (payment_required(extensions={}), (OFFER,), [Fault.BAZAAR_MISSING]),
        (payment_required(), (), [Fault.NO_SUPPORTED_OFFER]),
        (
            payment_required(resource={"url": "x"}),
            (),
            [DropReason.RESOURCE_URL_INVALID, Fault.NO_SUPPORTED_OFFER],
        ),
        (b'"\xff"', (OFFER,), [Fault.BAZAAR_MISSING]),
    ],
)
async def test_what_a_402_lacks_is_reported(
    client: AsgiClient,
    resources: Resources,
    document: bytes,
    offers: tuple[Offer, ...],
    expected: list[str],
) -> None:
    resources.said = {CITY: Offers(offers, document)}
    assert codes(await report(client, {"url": CITY})) == expected


@pytest.mark.parametrize("silence", list(Silence))
async def test_a_silent_url_is_reported_with_what_is_known(
    client: AsgiClient, resources: Resources, silence: Silence
) -> None:
    resources.said = {CITY: OriginSilent(silence, "404")}
    told = await report(client, {"url": CITY})
    (reason,) = told["reasons"]
    assert reason["code"] == f"origin_{silence.value}"
    assert reason["message"] == f"{SENTENCES[Fault(reason['code'])]} (404)"


async def test_a_url_that_could_not_be_listed_is_not_called(
    client: AsgiClient, resources: Resources
) -> None:
    told = await report(client, {"url": "https://169.254.169.254/latest"})
    assert codes(told) == [DropReason.RESOURCE_HOST_NOT_PUBLIC]
    assert resources.asked == []


async def test_the_eleventh_question_of_a_minute_is_refused_and_not_judged(
    database: Database, clock: ManualClock, resources: Resources
) -> None:
    one, other = (
        app(database, clock, resources, address=address)
        for address in ("2001:db8::1", "203.0.113.9")
    )
    told: list[Answer] = [await one.post(VALIDATE, {"url": CITY}) for _ in range(TURNS + 2)]
    assert [answer.status for answer in told] == [200] * TURNS + [429] * 2
    assert told[-1].headers["retry-after"] == "60"
    assert told[-1].json()["error"]["code"] == "too_many_requests"
    assert len(resources.asked) == TURNS
    assert (await other.post(VALIDATE, {"url": CITY})).status == 200
    clock.turn(60)
    assert (await one.post(VALIDATE, {"url": CITY})).status == 200


async def test_a_real_402_is_read_over_the_network(
    database: Database, clock: ManualClock, tmp_path: Path
) -> None:
    terms = {
        "scheme": "exact",
        "network": "stellar:testnet",
        "asset": ASSET,
        "amount": "10000",
        "payTo": SELLER,
    }
    document = payment_required(
        resource={"url": URL}, accepts=[terms], extensions={"bazaar": BAZAAR}
    )
    served = answers(document, status="402 Payment Required")
    async with seller(tmp_path, served) as other:
        asking = app(database, clock, Origin(other.client), address="203.0.113.10")
        told = await report(asking, {"url": URL})
    assert told["isValid"] is True
    assert told["key"] == URL.partition("?")[0]
    assert [offer["payTo"] for offer in told["offers"]] == [SELLER]


async def test_the_service_judges_and_lists_nothing(stage: Stage) -> None:
    url = "https://validated.example/never-listed"
    body = {"resource": {"url": url}, "extensions": {"bazaar": BAZAAR}}
    told = await report(stage.client, body)
    assert told["isValid"] is True
    assert await stage.query("SELECT 1 FROM listings WHERE resource_key = $1", url) == []
