"""`POST /v1/discovery/validate`: a report on a listing, without writing one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from farebox.catalog.discovery.drop_reason import DropReason
from farebox.catalog.discovery.reader import DirectReader
from farebox.catalog.ingestion.listing_outcome import RejectionReason
from farebox.catalog.origin.http_origin_client import HttpOriginClient
from farebox.catalog.origin.payment_required import (
    OriginFailure,
    OriginFault,
    OriginPaymentRequired,
    PaymentOption,
)
from farebox.catalog.reason_registry import REASONS
from farebox.catalog.validate import SENTENCES, Validation, ValidationFault
from farebox.catalog.validate_http import VALIDATE, VALIDATIONS_PER_MINUTE, validate_endpoints
from farebox.ingress.rate_limiter import ActionQuota, RateLimit, RateLimiter
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.asgi import Answer, AsgiClient
from support.discovery import SELLER, http_info, schema_of, tool_info
from support.listings import no_gateway
from support.manual_clock import ManualClock
from support.outbound import URL, seller
from support.routes import RoutedApp
from support.stage import Stage, service
from support.upstream import answers

ASSET: Final = Address("CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA")
CITY: Final = "https://api.weather.example/v1/paris"
BAZAAR: Final[dict[str, Any]] = {"info": http_info(), "schema": schema_of(http_info())}
OFFER: Final = PaymentOption(Network.TESTNET, ASSET, BaseUnits(10_000), SELLER)
Json = dict[str, Any]


class Resources:
    """What each URL answers when it is asked; the others are silent."""

    def __init__(self, answers: Mapping[str, OriginPaymentRequired | OriginFailure]) -> None:
        self.answers, self.requests = answers, list[tuple[str, str | None]]()

    async def fetch_payment_required(
        self, url: str, *, method: str | None
    ) -> OriginPaymentRequired | OriginFailure:
        self.requests.append((url, method))
        return self.answers.get(url, OriginFailure(OriginFault.UNREACHABLE, "resolving"))


def app(database: Database, clock: ManualClock, origins: Any, *, address: str) -> AsgiClient:
    """The one route, as asked from an address."""
    limit = RateLimit("validate", VALIDATIONS_PER_MINUTE)
    quota = ActionQuota(RateLimiter(database, clock), limit)
    edge = RoutedApp(*validate_endpoints(Validation(origins, DirectReader(), no_gateway()), quota))

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
    answer = await client.post(VALIDATE.path, body)
    assert answer.status == 200, answer.body
    return answer.json()


def codes(validation: Json) -> list[str]:
    return [reason["code"] for reason in validation["reasons"]]


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


async def test_validate_returns_listing_when_metadata_is_valid(client: AsgiClient) -> None:
    resource = {"url": f"{CITY}?now=1", "serviceName": "Weather", "tags": ["a"], "iconUrl": "x"}
    bazaar = {**BAZAAR, "routeTemplate": "/v1/:city"}
    validation = await report(client, {"resource": resource, "extensions": {"bazaar": bazaar}})
    assert validation == {
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


async def test_validate_returns_drop_reason_when_metadata_is_invalid(
    client: AsgiClient,
) -> None:
    resource = {"url": "https://10.0.0.1/x"}
    validation = await report(client, {"resource": resource, "extensions": {"bazaar": BAZAAR}})
    assert validation["isValid"] is False
    assert codes(validation) == [DropReason.RESOURCE_HOST_NOT_PUBLIC]
    assert "listing" not in validation


async def test_validate_judges_whole_payload_as_settle_does(client: AsgiClient) -> None:
    bazaar = {"info": tool_info(), "schema": schema_of(tool_info())}
    payload = {
        "x402Version": 2,
        "resource": {"url": "mcp://tool/weather"},
        "accepted": {"payTo": SELLER},
        "extensions": {"bazaar": bazaar},
        "payload": {"transaction": "AAAA"},
    }
    validation = await report(client, {"paymentPayload": payload})
    assert validation["key"] == f"mcp://tool/weather#weather@{SELLER}"
    requirements = {"payTo": SELLER}
    del payload["accepted"]
    validation = await report(
        client, {"paymentPayload": payload, "paymentRequirements": requirements}
    )
    assert validation["key"].endswith(SELLER)
    validation = await report(client, {"paymentPayload": payload})
    assert validation["key"].endswith("@")


@pytest.mark.parametrize("extensions", [{}, {"bazaar": None}, {"other": {}}, [], 7])
async def test_validate_reports_payload_without_extension(
    client: AsgiClient, extensions: object
) -> None:
    validation = await report(client, {"resource": {"url": CITY}, "extensions": extensions})
    assert codes(validation) == [ValidationFault.BAZAAR_MISSING]


async def test_validate_reports_metadata_that_is_too_long(client: AsgiClient) -> None:
    resource = {"url": CITY, "description": "x" * 70_000}
    validation = await report(client, {"resource": resource, "extensions": {"bazaar": BAZAAR}})
    assert codes(validation) == [DropReason.DISCOVERY_TOO_LARGE]


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
async def test_validate_returns_400_without_subject(client: AsgiClient, body: bytes) -> None:
    answer = await client.post(VALIDATE.path, body)
    assert answer.status == 400
    assert answer.json()["error"]["code"] == "invalid_validation_request"


async def test_validate_fetches_402_of_url(client: AsgiClient, resources: Resources) -> None:
    resources.answers = {CITY: OriginPaymentRequired((OFFER,), payment_required())}
    spelled = CITY.replace("https", "HTTPS") + "#top"
    validation = await report(client, {"url": spelled, "method": "POST"})
    assert resources.requests == [(CITY, "POST")]
    assert validation["isValid"] is True
    assert validation["key"] == "https://api.weather.example/v1/{}"
    assert validation["offers"] == [
        {
            "scheme": "exact",
            "network": "stellar:testnet",
            "asset": ASSET,
            "amount": "10000",
            "payTo": SELLER,
        }
    ]


async def test_validate_warns_when_402_names_another_url(
    client: AsgiClient, resources: Resources
) -> None:
    other = "https://api.weather.example/v2/paris"
    resources.answers = {other: OriginPaymentRequired((OFFER,), payment_required())}
    validation = await report(client, {"url": other})
    assert validation["warnings"] == [
        {
            "field": "resource.url",
            "message": f"resource.url names {CITY} and not the URL that was asked.",
        }
    ]


@pytest.mark.parametrize(
    ("document", "offers", "expected"),
    [
        (payment_required(extensions={}), (OFFER,), [ValidationFault.BAZAAR_MISSING]),
        (payment_required(), (), [ValidationFault.NO_SUPPORTED_OFFER]),
        (
            payment_required(resource={"url": "x"}),
            (),
            [DropReason.RESOURCE_URL_INVALID, ValidationFault.NO_SUPPORTED_OFFER],
        ),
        (b'"\xff"', (OFFER,), [ValidationFault.BAZAAR_MISSING]),
    ],
)
async def test_validate_reports_members_missing_from_402(
    client: AsgiClient,
    resources: Resources,
    document: bytes,
    offers: tuple[PaymentOption, ...],
    expected: list[str],
) -> None:
    resources.answers = {CITY: OriginPaymentRequired(offers, document)}
    assert codes(await report(client, {"url": CITY})) == expected


@pytest.mark.parametrize("silence", list(OriginFault))
async def test_validate_reports_known_fields_when_url_does_not_answer(
    client: AsgiClient, resources: Resources, silence: OriginFault
) -> None:
    resources.answers = {CITY: OriginFailure(silence, "404")}
    validation = await report(client, {"url": CITY})
    (reason,) = validation["reasons"]
    assert reason["code"] == f"origin_{silence.value}"
    assert reason["message"] == f"{SENTENCES[ValidationFault(reason['code'])]} (404)"


async def test_validate_does_not_call_url_that_cannot_be_listed(
    client: AsgiClient, resources: Resources
) -> None:
    validation = await report(client, {"url": "https://169.254.169.254/latest"})
    assert codes(validation) == [DropReason.RESOURCE_HOST_NOT_PUBLIC]
    assert resources.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "https://pay.example.org/gateway/one",
        "HTTPS://PAY.example.org.:443/x/../%67ateway/one?now=1",
        "https://pay.example.org:8443/",
    ],
)
async def test_validate_reports_url_of_this_service_as_settle_does(
    client: AsgiClient, resources: Resources, url: str
) -> None:
    validation = await report(client, {"resource": {"url": url}, "extensions": {"bazaar": BAZAAR}})
    reserved = RejectionReason.GATEWAY_URL
    assert validation == {
        "isValid": False,
        "reasons": [{"code": "gateway_url_reserved", "message": REASONS[reserved]}],
        "warnings": [],
    }
    document = payment_required(resource={"url": url}, extensions={"bazaar": BAZAAR})
    resources.answers = {CITY: OriginPaymentRequired((OFFER,), document)}
    assert codes(await report(client, {"url": CITY})) == [reserved], "another's 402 names it"


async def test_validate_does_not_call_this_service(stage: Stage) -> None:
    own = {"FAREBOX_PUBLIC_URL": "https://farebox.example"}
    async with service(stage.environment | own) as client:
        for url in ("https://farebox.example/gateway/one", "https://FAREBOX.example.:8443/x"):
            (reason,) = (await report(client, {"url": url}))["reasons"]
            assert reason["code"] == ValidationFault.NOT_CALLED
            assert "(address_is_this_service)" in reason["message"]
            body = {"resource": {"url": url}, "extensions": {"bazaar": BAZAAR}}
            assert codes(await report(client, body)) == [RejectionReason.GATEWAY_URL]


async def test_validate_refuses_eleventh_request_of_a_minute(
    database: Database, clock: ManualClock, resources: Resources
) -> None:
    one, other = (
        app(database, clock, resources, address=address)
        for address in ("2001:db8::1", "203.0.113.9")
    )
    answers: list[Answer] = [
        await one.post(VALIDATE.path, {"url": CITY}) for _ in range(VALIDATIONS_PER_MINUTE + 2)
    ]
    assert [answer.status for answer in answers] == [200] * VALIDATIONS_PER_MINUTE + [429] * 2
    assert answers[-1].headers["retry-after"] == "60"
    assert answers[-1].json()["error"]["code"] == "too_many_requests"
    assert len(resources.requests) == VALIDATIONS_PER_MINUTE
    assert (await other.post(VALIDATE.path, {"url": CITY})).status == 200
    clock.turn(60)
    assert (await one.post(VALIDATE.path, {"url": CITY})).status == 200


async def test_validate_reads_real_402_over_the_network(
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
        asking = app(database, clock, HttpOriginClient(other.client), address="203.0.113.10")
        validation = await report(asking, {"url": URL})
    assert validation["isValid"] is True
    assert validation["key"] == URL.partition("?")[0]
    assert [offer["payTo"] for offer in validation["offers"]] == [SELLER]


async def test_validate_writes_no_listing(stage: Stage) -> None:
    url = "https://validated.example/never-listed"
    body = {"resource": {"url": url}, "extensions": {"bazaar": BAZAAR}}
    validation = await report(stage.client, body)
    assert validation["isValid"] is True
    assert await stage.query("SELECT 1 FROM listings WHERE resource_key = $1", url) == []
