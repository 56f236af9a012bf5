"""A declaration alone decides how the application serves a route."""

from typing import Final

import msgspec
import pytest
from starlette.types import Receive, Scope, Send

from farebox.app.asgi import Application
from farebox.app.assembly import Services
from farebox.ingress.http import Rates, protect
from farebox.ingress.rate_limiter import RateLimiter
from farebox.kernel.caller import Caller, CallerKind, Grant, OwnerId
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.web.endpoint import (
    Endpoint,
    Example,
    FailureShape,
    Rate,
    RateClass,
    ResponseDeclaration,
)
from farebox.web.error_responses import Failure
from farebox.web.guard import Access, Headers, caller_of
from farebox.web.request_body import read_body
from farebox.web.responses import send_json
from support.asgi import AsgiClient
from support.manual_clock import ManualClock
from support.routes import declare

READER: Final = Caller(OwnerId("user_1"), CallerKind.KEY, frozenset({Grant.READ}), key_id="key_1")
KEY: Final = {"authorization": "Bearer reader"}


class Thing(msgspec.Struct):
    """A body."""

    size: int


class Reader:
    """Knows one key."""

    async def caller(self, method: str, headers: Headers) -> Caller | None:
        return READER if (b"authorization", b"Bearer reader") in headers else None


async def measure(scope: Scope, receive: Receive, send: Send) -> None:
    body = await read_body(receive)
    await send_json(send, 200, b'{"size":%d}' % len(body))


async def whoami(scope: Scope, receive: Receive, send: Send) -> None:
    await send_json(send, 200, msgspec.json.encode(caller_of(scope).owner))


def own_failure(failure: Failure) -> bytes:
    return b'{"size":-%d}' % failure.code.status


def client(*endpoints: Endpoint, per_minute: int = 0) -> AsgiClient:
    """The application over these endpoints; no limit below the database's is reached."""
    limiter = RateLimiter(Database(Secret("postgresql://127.0.0.1:9/none")), ManualClock())
    rates = Rates(dict.fromkeys(RateClass, per_minute), dict.fromkeys(RateClass, per_minute))
    services = Services(endpoints, protect=lambda each: protect(each, Reader(), limiter, rates))
    return AsgiClient(Application(services, stop=lambda: None))


def things(**declared: object) -> Endpoint:
    """`POST /things`, with a body."""
    return Endpoint(
        declare(
            "POST",
            "/things",
            request=Thing,
            responses={200: ResponseDeclaration("The thing.", Thing)},
            example=Example(request={"size": 1}, response={"size": 1}),
            **declared,
        ),
        measure,
    )


@pytest.mark.parametrize(
    ("access", "without", "with_key"),
    [(None, 200, 200), (Access(), 401, 403), (Access(Grant.READ), 401, 200)],
)
async def test_declared_access_decides_which_callers_reach_the_handler(
    access: Access | None, without: int, with_key: int
) -> None:
    service = client(things(access=access))
    assert (await service.request("POST", "/things")).status == without
    assert (await service.request("POST", "/things", headers=KEY)).status == with_key


async def test_declared_body_limit_is_enforced() -> None:
    service = client(things(body_limit_bytes=1024))
    assert (await service.request("POST", "/things", body=b"x" * 1024)).json() == {"size": 1024}
    refused = await service.request("POST", "/things", body=b"x" * 1025)
    assert refused.status == 413
    assert refused.json()["error"]["message"] == "The body is larger than 1 KB."


async def test_failure_has_the_declared_shape() -> None:
    shape = FailureShape(Thing, own_failure)
    service = client(things(failure=shape, access=Access()))
    assert (await service.request("POST", "/things")).json() == {"size": -401}


async def test_cors_header_is_sent_when_declared() -> None:
    for is_open in (True, False):
        answer = await client(things(is_cross_origin=is_open)).request("POST", "/things")
        assert ("access-control-allow-origin" in answer.headers) is is_open


async def test_cors_of_a_path_with_parameters_holds_for_each_of_its_paths() -> None:
    route = declare("GET", "/things/{id}", is_cross_origin=True)
    service = client(Endpoint(route, whoami))
    for path, is_open in (("/things/5", True), ("/things/", False), ("/things/5/x", False)):
        preflight = await service.request("OPTIONS", path)
        assert (preflight.status == 204) is is_open, path
        assert ("access-control-allow-origin" in preflight.headers) is is_open, path


async def test_openapi_document_has_the_route_with_types_codes_and_examples() -> None:
    service = client(things(access=Access(Grant.READ), errors=(ErrorCode.NAME_TAKEN,)))
    document = (await service.get("/v1/openapi.json")).json()
    operation = document["paths"]["/things"]["post"]
    assert operation["requestBody"]["content"]["application/json"] == {
        "schema": {"$ref": "#/components/schemas/Thing"},
        "example": {"size": 1},
    }
    assert (
        operation["responses"]["409"]["description"]
        == "Conflict: `account_mismatch`, `name_taken`."
    )
    assert "`scope_missing`" in operation["responses"]["403"]["description"]
    assert document["components"]["schemas"]["Thing"]["required"] == ["size"]


async def test_declared_rate_is_counted_and_none_is_not() -> None:
    for rate, last in ((Rate(RateClass.MANAGEMENT, cost=2), 429), (None, 200)):
        service = client(things(rate=rate), per_minute=4)
        statuses = [(await service.request("POST", "/things")).status for _ in range(4)]
        assert statuses[-1] == last, statuses


async def test_handler_receives_the_caller() -> None:
    endpoint = Endpoint(declare("GET", "/me", access=Access(Grant.READ)), whoami)
    answer = await client(endpoint).request("GET", "/me", headers=KEY)
    assert answer.body == b'"user_1"'
