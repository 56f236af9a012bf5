"""Which route a request goes to."""

import pytest
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route
from starlette.types import Message, Receive, Scope, Send

from farebox.web.route_table import RouteTable


class Endpoint:
    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["reached"].append((self.name, scope.get("path_params", {})))


TABLE = RouteTable(
    [
        Route("/things", Endpoint("list"), methods=["GET"]),
        Route("/things", Endpoint("create"), methods=["POST"]),
        Route("/things/{id}", Endpoint("show"), methods=["GET"]),
        Route("/things/{id}", Endpoint("delete"), methods=["DELETE"]),
        Route("/things/{id}/turn", Endpoint("turn"), methods=["POST"]),
        Route("/things/all", Endpoint("all"), methods=["GET"]),
    ]
)


async def reached(method: str, path: str) -> list[tuple[str, dict[str, str]]]:
    scope: Scope = {"type": "http", "method": method, "path": path, "root_path": "", "reached": []}
    scope["app"] = None

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        raise AssertionError(message)

    await TABLE(scope, receive, send)
    found: list[tuple[str, dict[str, str]]] = scope["reached"]
    return found


@pytest.mark.parametrize(
    ("method", "path", "found"),
    [
        ("GET", "/things", ("list", {})),
        ("HEAD", "/things", ("list", {})),
        ("POST", "/things", ("create", {})),
        ("GET", "/things/all", ("all", {})),
        ("GET", "/things/1", ("show", {"id": "1"})),
        ("DELETE", "/things/1", ("delete", {"id": "1"})),
        ("POST", "/things/1/turn", ("turn", {"id": "1"})),
    ],
)
async def test_path_and_method_lead_to_one_endpoint(
    method: str, path: str, found: tuple[str, dict[str, str]]
) -> None:
    assert await reached(method, path) == [found]


@pytest.mark.parametrize(
    ("path", "allowed"), [("/things", "GET, HEAD, POST"), ("/things/1", "DELETE, GET, HEAD")]
)
async def test_another_method_is_told_all_that_are_taken(path: str, allowed: str) -> None:
    with pytest.raises(HTTPException) as refused:
        await reached("PATCH", path)
    assert refused.value.status_code == 405
    assert refused.value.headers == {"Allow": allowed}


@pytest.mark.parametrize("path", ["/", "/thing", "/things/", "/things/1/2", "/Things"])
async def test_a_path_of_no_route_is_not_found(path: str) -> None:
    with pytest.raises(HTTPException) as refused:
        await reached("GET", path)
    assert refused.value.status_code == 404


def test_only_plain_routes_are_served() -> None:
    with pytest.raises(TypeError):
        RouteTable([Mount("/below", routes=[])])
