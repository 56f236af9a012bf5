"""Wrappers managed over HTTP."""

import json
from collections.abc import Sequence
from typing import Any, Final

import pytest
import structlog

from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.upstream_credentials import UpstreamCredentials
from farebox.gateway.wrappers.check_wrapper import WrapperCheck
from farebox.gateway.wrappers.wrappers_http import WRAPPERS, wrapper_endpoints
from farebox.kernel.caller import Caller, CallerKind, Grant
from farebox.kernel.clock import SystemClock
from farebox.outbound.client import OutboundClient
from farebox.outbound.resolve import LoopbackResolver
from farebox.storage.pool import Database
from farebox.web.client_address import ClientAddress
from farebox.web.endpoint import Endpoint
from farebox.web.error_responses import ErrorMiddleware
from farebox.web.guard import Guard
from farebox.web.request_body import BodyLimit
from farebox.web.request_context import RequestLog
from farebox.web.route_table import RouteTable
from support.asgi import Answer, AsgiClient
from support.outbound import lookup
from support.vault import new_owner, vault_replica
from support.wrappers import ASSET, OTHER_ASSET, PAY_TO, NoChecks, wrappers_of

GATEWAY: Final = GatewayUrl("https://pay.example.com")
REQUEST: Final[dict[str, Any]] = {
    "name": "City weather",
    "upstreamUrl": "https://api.example.com/v1",
    "network": "stellar:testnet",
    "asset": ASSET,
    "amount": "10000",
    "payTo": PAY_TO,
}
_METHOD: Final = "routes[0].method"


class OneCaller:
    """Authenticates every request with credentials as the same caller."""

    def __init__(self, caller: Caller) -> None:
        self.known = caller

    async def caller(self, method: str, headers: Sequence[tuple[bytes, bytes]]) -> Caller | None:
        """The caller of a request with an `Authorization` header."""
        is_shown = any(name == b"authorization" for name, _ in headers)
        return self.known if is_shown else None


class Seller:
    """A client that shows the credential of its caller."""

    def __init__(self, database: Database, caller: Caller | None = None) -> None:
        self.caller = caller or new_owner()
        clock = SystemClock()
        check = WrapperCheck(
            OutboundClient(LoopbackResolver({}, lookup({}))),
            NoChecks(),
            UpstreamCredentials(vault_replica(database).reader),
            GATEWAY,
            clock,
        )
        endpoints = wrapper_endpoints(wrappers_of(database), check, GATEWAY)
        authentication = OneCaller(self.caller)

        def protected(each: Endpoint) -> BodyLimit:
            assert each.route.access is not None
            return BodyLimit(Guard(each.handler, authentication, each.route.access))

        table = RouteTable((each.route, protected(each)) for each in endpoints)
        app = ClientAddress(ErrorMiddleware(table, {}), ())
        self.client = AsgiClient(RequestLog(app, structlog.get_logger()))

    async def send(self, method: str, path: str = "", value: object = None) -> Answer:
        """Send a request below `/v1/wrappers`."""
        body = b"" if value is None else json.dumps(value).encode()
        headers = {"authorization": "Bearer x", "content-type": "application/json"}
        return await self.client.request(method, WRAPPERS + path, body=body, headers=headers)

    async def create(self, **members: Any) -> dict[str, Any]:
        """Create a wrapper."""
        answer = await self.send("POST", value=REQUEST | members)
        assert answer.status == 201, answer.body
        return answer.json()


@pytest.fixture
def seller(database: Database) -> Seller:
    return Seller(database)


def refusal(answer: Answer) -> tuple[int, str]:
    return answer.status, str(answer.json()["error"]["code"])


async def test_created_wrapper_is_shown_with_every_member_and_its_endpoint(seller: Seller) -> None:
    created = await seller.create(slug="weather-of-cities", tags=["weather"])
    assert created == {
        "id": created["id"],
        "slug": "weather-of-cities",
        "endpoint": "https://pay.example.com/gateway/weather-of-cities",
        "scheme": "exact",
        "enabled": False,
        "name": "City weather",
        "description": "",
        "tags": ["weather"],
        "mimeType": "application/json",
        "upstreamUrl": "https://api.example.com/v1",
        "authType": "none",
        "authHeader": None,
        "secretId": None,
        "accepts": [
            {"network": "stellar:testnet", "asset": ASSET, "amount": "10000", "payTo": PAY_TO}
        ],
        "method": None,
        "routes": [],
        "otherPaths": "base",
        "requestsPerMinute": 60,
        "monthlyRequestQuota": 100_000,
        "maxConcurrentRequests": 50,
        "maxRequestBytes": 1_048_576,
        "maxResponseBytes": 5_242_880,
        "timeoutSeconds": 30,
        "keepAnswerBytes": 65_536,
        "isRepeatable": False,
        "createdAt": created["createdAt"],
        "updatedAt": created["updatedAt"],
    }
    assert (await seller.send("GET", f"/{created['id']}")).json() == created


async def test_every_member_is_read_back_as_it_was_sent(seller: Seller) -> None:
    terms = {"network": "stellar:testnet", "asset": OTHER_ASSET, "payTo": PAY_TO}
    sent = {
        "accepts": [terms | {"amount": str(2**127 - 1)}],
        "routes": [
            {"method": "GET", "path": "/city/:name", "amount": "5", "description": "One."},
            {
                "method": "POST",
                "path": "/report",
                "accepts": [terms | {"amount": "6"}],
                "input": {"type": "object", "properties": {"a": {"type": "number"}}},
                "output": {"type": "object"},
            },
        ],
        "otherPaths": "refused",
        "requestsPerMinute": 1,
        "monthlyRequestQuota": 2,
        "maxConcurrentRequests": 3,
        "maxRequestBytes": 0,
        "maxResponseBytes": 1024,
        "timeoutSeconds": 300,
        "keepAnswerBytes": 0,
        "isRepeatable": True,
        "mimeType": "text/csv",
        "description": "Of cities.",
    }
    short = {"network", "asset", "amount", "payTo"}
    request = {name: value for name, value in REQUEST.items() if name not in short} | sent
    answer = await seller.send("POST", value=request)
    assert answer.status == 201, answer.body
    assert {name: answer.json()[name] for name in sent} == sent


async def test_wrapper_is_changed_enabled_disabled_and_deleted(seller: Seller) -> None:
    own = f"/{(await seller.create())['id']}"
    assert (await seller.send("PATCH", own, {"amount": "7"})).json()["accepts"][0]["amount"] == "7"
    assert (await seller.send("POST", f"{own}/enable")).json()["enabled"] is True
    assert (await seller.send("POST", f"{own}/disable")).json()["enabled"] is False
    assert (await seller.send("DELETE", own)).status == 204
    for method, path in (("GET", own), ("DELETE", own), ("POST", f"{own}/enable")):
        assert refusal(await seller.send(method, path)) == (404, "not_found")


async def test_list_has_pages_with_a_cursor(seller: Seller) -> None:
    made = [(await seller.create())["id"] for _ in range(3)][::-1]
    first = (await seller.send("GET", "?limit=2")).json()
    rest = (await seller.send("GET", f"?limit=2&cursor={first['pagination']['nextCursor']}")).json()
    assert [each["id"] for each in (*first["items"], *rest["items"])] == made
    assert rest["pagination"] == {"limit": 2, "nextCursor": None}


async def test_slug_of_a_name_is_suggested(seller: Seller) -> None:
    expected = {"slug": "city-weather", "available": True, "modified": False}
    assert (await seller.send("GET", "/slug?name=City+weather")).json() == expected
    await seller.create()
    expected = {"slug": "city-weather-2", "available": True, "modified": True}
    assert (await seller.send("GET", "/slug?name=City+weather")).json() == expected
    for query in ("", "?name=", "?name=a&name=b", f"?name={'n' * 201}"):
        assert refusal(await seller.send("GET", f"/slug{query}")) == (400, "invalid_name")


INVALID: Final[tuple[tuple[object, str, str], ...]] = (
    ({}, "invalid_wrapper", "name"),
    (REQUEST | {"amount": "1.5"}, "invalid_request", "amount"),
    (REQUEST | {"amount": 10_000}, "invalid_request", "amount"),
    (REQUEST | {"upstreamUrl": "http://api.example.com"}, "invalid_wrapper", "upstreamUrl"),
    (REQUEST | {"amount": "10000\n"}, "invalid_request", "amount"),
    (REQUEST | {"payTo": REQUEST["payTo"] + "\n"}, "invalid_request", "payTo"),
    (REQUEST | {"unknown": 1}, "invalid_request", ""),
    (REQUEST | {"requestsPerMinute": 0}, "invalid_request", "requestsPerMinute"),
    (REQUEST | {"slug": "Weather"}, "invalid_wrapper", "slug"),
    (REQUEST | {"routes": [{"method": "HEAD", "path": "/a"}]}, "invalid_request", _METHOD),
)


async def test_member_that_breaks_a_rule_is_named_in_the_refusal(seller: Seller) -> None:
    for row, (value, code, member) in enumerate(INVALID):
        answer = await seller.send("POST", value=value)
        assert refusal(answer) == (400, code), row
        error = answer.json()["error"]
        assert error.get("details", {}).get("field", "") == member
        assert (f"Look at {member}." in error["message"]) is bool(member)


async def test_taken_slug_is_a_conflict(seller: Seller, database: Database) -> None:
    await seller.create(slug="taken")
    other = Seller(database)
    answer = await other.send("POST", value=REQUEST | {"slug": "taken"})
    assert refusal(answer) == (409, "slug_taken")


async def test_wrapper_of_another_owner_is_not_found(seller: Seller, database: Database) -> None:
    own = f"/{(await seller.create())['id']}"
    thief = Seller(database)
    for method, path, value in (
        ("GET", own, None),
        ("PATCH", own, {"amount": "1"}),
        ("POST", f"{own}/enable", None),
        ("POST", f"{own}/disable", None),
        ("DELETE", own, None),
    ):
        assert refusal(await thief.send(method, path, value)) == (404, "not_found")
    assert (await thief.send("GET")).json()["items"] == []


async def test_caller_without_credential_or_scope_is_refused(
    seller: Seller, database: Database
) -> None:
    answer = await seller.client.request("GET", WRAPPERS)
    assert refusal(answer) == (401, "unauthenticated")
    owner = new_owner().owner
    reader = Caller(owner, CallerKind.KEY, grants=frozenset({Grant.READ}), key_id="key_1")
    assert refusal(await Seller(database, reader).send("GET")) == (403, "scope_missing")
