"""The judge of the tenant matrix before services that leak: each is caught."""

from typing import Final

import pytest
import structlog
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from farebox.kernel.caller import Caller, CallerKind, OwnerId
from farebox.kernel.errors import NotFound, Refusal
from farebox.kernel.ids import is_id, new_id
from farebox.web.answers import send_json
from farebox.web.errors import ErrorEdge, Failure, uniform_body
from farebox.web.guard import Guarded, Headers, Needs
from farebox.web.request_log import RequestLog
from farebox.web.request_note import note_of
from farebox.web.route_table import RouteTable
from support.asgi import AsgiClient
from support.tenants import Door, flaws_of, forgotten

PATH: Final = "/v1/things/{id}"
NAME: Final = "a name that is nobody else's"
_NOTHING: Final = ("not_found", "There is nothing at this path.")


class Somebody:
    """Takes every request for that of a caller who has no record."""

    async def caller(self, method: str, headers: Headers) -> Caller | None:
        return Caller(OwnerId("user_1"), CallerKind.SESSION)


class Thing:
    """A route over one record of another's, of which it tells in one way, or in none."""

    def __init__(self, leak: str) -> None:
        self.leak, self.record, self.rows = leak, new_id("thing"), frozenset({"row"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["path_params"]["id"]
        if self.leak == "a malformed id" and not is_id("thing", asked):
            raise Refusal("invalid_id", "No id looks like this.")
        if self.leak == "the case" and asked.lower() == self.record.lower() != asked:
            raise Refusal("invalid_id", "Mind the case.")
        if asked == self.record:
            await self._tell(scope, send)
        else:
            raise NotFound

    async def _tell(self, scope: Scope, send: Send) -> None:
        match self.leak:
            case "the status":
                raise Refusal("forbidden", "There is nothing at this path.")
            case "the words":
                raise Refusal("not_found", "It is another's.")
            case "a header":
                body = uniform_body(Failure(404, *_NOTHING, note_of(scope).request_id))
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


async def judged(leak: str) -> list[str]:
    """What the matrix says of a service with this leak."""
    thing = Thing(leak)
    route = Route(PATH, Guarded(thing, Somebody(), Needs()), methods=["GET", "DELETE"])
    edge = ErrorEdge(RouteTable([route]), {})
    client = AsgiClient(RequestLog(edge, structlog.get_logger()))
    door = Door(PATH, "thing", frozenset({"GET", "DELETE"}))

    async def rows() -> frozenset[str]:
        return thing.rows

    return await flaws_of(client, door, {}, [thing.record], marks=[NAME], rows=rows)


async def test_a_service_that_tells_nothing_passes() -> None:
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
async def test_a_service_that_leaks_is_caught(leak: str) -> None:
    assert await judged(leak) != []


def test_a_route_without_an_example_is_caught() -> None:
    guard = Guarded(Thing("nothing"), Somebody(), Needs())
    routes = [
        Route(PATH, guard, methods=["GET", "DELETE"]),
        Route("/v1/things", guard, methods=["GET", "POST"]),
        Route("/v1/open/{id}", Thing("nothing"), methods=["GET"]),
    ]
    assert sorted(forgotten(routes, {}, {("GET", "/v1/things")})) == [
        "DELETE /v1/things/{id}",
        "GET /v1/things/{id}",
        "POST /v1/things",
    ]
    assert (
        forgotten(routes, {PATH: "thing"}, {(each, "/v1/things") for each in ("GET", "POST")}) == []
    )
