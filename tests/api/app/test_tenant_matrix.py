"""Control: the tenant matrix finds the leak of each leaking service."""

from typing import Final

import pytest
from starlette.types import Receive, Scope, Send

from farebox.kernel.caller import Caller, CallerKind, OwnerId
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import NotFound, Refusal
from farebox.kernel.ids import is_id, new_id
from farebox.web.endpoint import record_id
from farebox.web.error_responses import Failure, uniform_body
from farebox.web.guard import Access, Guard, Headers
from farebox.web.request_context import context_of
from farebox.web.responses import send_json
from support.asgi import AsgiClient
from support.routes import RoutedApp, declare, endpoint
from support.tenants import TenantRoute, find_leaks, uncovered_routes

PATH: Final = "/v1/things/{id}"
ID: Final = record_id("The thing's id.", prefix="thing")
NAME: Final = "a name of one owner only"


class Somebody:
    """Takes every request for that of a caller who has no record."""

    async def caller(self, method: str, headers: Headers) -> Caller | None:
        return Caller(OwnerId("user_1"), CallerKind.SESSION)


class Thing:
    """A route over one record of another's, which it leaks in one way, or not at all."""

    def __init__(self, leak: str) -> None:
        self.leak, self.record, self.rows = leak, new_id("thing"), frozenset({"row"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["path_params"]["id"]
        if self.leak == "a malformed id" and not is_id("thing", asked):
            raise Refusal(ErrorCode.INVALID_NAME, "No id looks like this.")
        if self.leak == "the case" and asked.lower() == self.record.lower() != asked:
            raise Refusal(ErrorCode.INVALID_NAME, "Mind the case.")
        if asked == self.record:
            await self._tell(scope, send)
        else:
            raise NotFound

    async def _tell(self, scope: Scope, send: Send) -> None:
        match self.leak:
            case "the status":
                raise Refusal(ErrorCode.SESSION_REQUIRED, "There is nothing at this path.")
            case "the words":
                raise Refusal(ErrorCode.NOT_FOUND, "It is another's.")
            case "a header":
                body = _not_found(context_of(scope).request_id)
                await send_json(send, 404, body, [(b"x-cache", b"hit")])
            case "one method" if scope["method"] == "DELETE":
                await send_json(send, 200, b"{}")
            case "the record":
                await send_json(send, 200, b'{"name":"%s"}' % NAME.encode())
            case "a change":
                self.rows = frozenset()
                raise NotFound
            case _:
                raise NotFound


def _not_found(request_id: str) -> bytes:
    code = ErrorCode.NOT_FOUND
    return uniform_body(Failure(code, code.sentence, request_id))


async def judged(leak: str) -> list[str]:
    """What the matrix says of a service with this leak."""
    thing = Thing(leak)
    guard = Guard(thing, Somebody(), Access())
    client = AsgiClient(RoutedApp(*(endpoint(method, PATH, guard) for method in ("GET", "DELETE"))))
    door = TenantRoute(PATH, "thing", frozenset({"GET", "DELETE"}))

    async def changes() -> frozenset[str]:
        return frozenset({"row"}) ^ thing.rows

    return await find_leaks(client, door, {}, [thing.record], marks=[NAME], changes=changes)


async def test_tenant_matrix_passes_service_without_leak() -> None:
    assert await judged("nothing") == []


@pytest.mark.parametrize(
    "leak",
    [
        "a malformed id",
        "the case",
        "the status",
        "the words",
        "a header",
        "one method",
        "the record",
        "a change",
    ],
)
async def test_tenant_matrix_finds_leak(leak: str) -> None:
    assert await judged(leak) != []


def test_tenant_matrix_finds_route_without_example() -> None:
    routes = [
        declare("GET", PATH, access=Access(), parameters=[ID]),
        declare("DELETE", PATH, access=Access(), parameters=[ID]),
        declare("GET", "/v1/things", access=Access()),
        declare("POST", "/v1/things", access=Access()),
        declare("GET", "/v1/open/{id}"),
    ]
    assert sorted(uncovered_routes(routes, {}, {("GET", "/v1/things")})) == [
        "DELETE /v1/things/{id}",
        "GET /v1/things/{id}",
        "POST /v1/things",
    ]
    assert (
        uncovered_routes(routes, {"thing"}, {(each, "/v1/things") for each in ("GET", "POST")})
        == []
    )
