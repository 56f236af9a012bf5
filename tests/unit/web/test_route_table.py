"""The route table: the endpoint and the rate class for a request."""

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from farebox.web.endpoint import Rate, RateClass
from farebox.web.path_template import route_path
from farebox.web.route_table import RouteTable
from support.routes import declare


class Handler:
    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["reached"].append((self.name, scope.get("path_params", {})))


TABLE = RouteTable(
    [
        (declare("GET", "/things"), Handler("list")),
        (declare("POST", "/things"), Handler("create")),
        (declare("GET", "/things/{id}"), Handler("show")),
        (declare("DELETE", "/things/{id}"), Handler("delete")),
        (declare("POST", "/things/{id}/turn"), Handler("turn")),
        (declare("GET", "/things/all"), Handler("all")),
    ]
)


async def reached(method: str, path: str) -> list[tuple[str, dict[str, str]]]:
    scope: Scope = {"type": "http", "method": method, "path": path, "root_path": "", "reached": []}

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
async def test_route_table_selects_one_endpoint_by_path_and_method(
    method: str, path: str, found: tuple[str, dict[str, str]]
) -> None:
    assert await reached(method, path) == [found]


@pytest.mark.parametrize(
    ("path", "allowed"), [("/things", "GET, HEAD, POST"), ("/things/1", "DELETE, GET, HEAD")]
)
async def test_unknown_method_is_refused_with_the_allowed_methods(path: str, allowed: str) -> None:
    with pytest.raises(HTTPException) as refused:
        await reached("PATCH", path)
    assert refused.value.status_code == 405
    assert refused.value.headers == {"Allow": allowed}


@pytest.mark.parametrize("path", ["/", "/thing", "/things/", "/things/1/2", "/Things"])
async def test_path_without_a_route_is_not_found(path: str) -> None:
    with pytest.raises(HTTPException) as refused:
        await reached("GET", path)
    assert refused.value.status_code == 404


def test_route_declared_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="declared twice: GET /things"):
        RouteTable([(declare("GET", "/things"), Handler(name)) for name in "ab"])


@pytest.mark.parametrize("path", ["/thingsx1", "/things//turn", "/things/1/turn\n"])
async def test_path_parameter_matches_one_segment_and_the_rest_literally(path: str) -> None:
    with pytest.raises(HTTPException) as refused:
        await reached("POST", path)
    assert refused.value.status_code in (404, 405)


def test_rate_of_a_path_is_the_rate_of_its_route() -> None:
    search = Rate(RateClass.DISCOVERY, cost=3)
    table = RouteTable(
        [
            (declare("GET", "/search", rate=search), Handler("search")),
            (declare("GET", "/things/{id}", rate=Rate(RateClass.VERIFY)), Handler("thing")),
            (declare("DELETE", "/things/{id}", rate=search), Handler("delete")),
            (declare("GET", "/open", rate=None), Handler("open")),
        ]
    )
    assert table.rate_of("GET", "/search") == search
    assert table.rate_of("GET", "/things/1") == Rate(RateClass.VERIFY)
    assert table.rate_of("DELETE", "/things/1") == search
    assert table.rate_of("HEAD", "/open") is None
    assert table.rate_of("GET", "/unknown") == Rate(RateClass.MANAGEMENT)


@pytest.mark.parametrize(
    ("raw_path", "path"),
    [
        (b"/a/b", "/a/b"),
        (b"/a%2Fb", "/a%2Fb"),
        (b"/a%2fb%41", "/a%2FbA"),
        (b"/a%252Fb", "/a%2Fb"),
        (b"/caf%C3%A9", "/caf\u00e9"),
        (b"/%", "/%"),
    ],
)
def test_encoded_slash_separates_no_segments_of_a_route(raw_path: bytes, path: str) -> None:
    assert route_path(raw_path) == path
