"""The headers that every response has without its route setting them."""

from collections.abc import Mapping

import pytest
from starlette.types import Receive, Scope, Send

from farebox.kernel.caller import Caller, CallerKind, OwnerId
from farebox.kernel.errors import NotFound
from farebox.web.error_responses import ErrorMiddleware
from farebox.web.guard import Access, Guard, Headers
from farebox.web.request_context import RequestLog
from farebox.web.responses import CrossOrigin, send_json
from support.asgi import AsgiClient
from support.recording_log import RecordingLog

CALLER = Caller(OwnerId("user_1"), CallerKind.SESSION)


class _Knows:
    def __init__(self, caller: Caller | None) -> None:
        self._caller = caller

    async def caller(self, method: str, headers: Headers) -> Caller | None:
        return self._caller


async def _plain(scope: Scope, receive: Receive, send: Send) -> None:
    await send_json(send, 200, b"{}")


async def _own_word(scope: Scope, receive: Receive, send: Send) -> None:
    await send_json(send, 200, b"{}", [(b"cache-control", b"private")])


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    raise NotFound


async def _headers(caller: Caller | None, access: Access, endpoint: object) -> Mapping[str, str]:
    guarded = Guard(endpoint, _Knows(caller), access)  # type: ignore[arg-type]  # one of the above
    app = RequestLog(ErrorMiddleware(guarded, {}), RecordingLog())
    answer = await AsgiClient(app).get("/")
    return answer.headers


@pytest.mark.parametrize("endpoint", [_plain, _own_word, _nothing])
@pytest.mark.parametrize("caller", [CALLER, None])
async def test_every_response_forbids_content_type_sniffing(
    endpoint: object, caller: Caller | None
) -> None:
    headers = await _headers(caller, Access(), endpoint)
    assert headers["x-content-type-options"] == "nosniff"


async def test_response_for_one_caller_is_not_stored_unless_its_route_says_otherwise() -> None:
    for endpoint in (_plain, _nothing):
        assert (await _headers(CALLER, Access(), endpoint))["cache-control"] == "no-store"
    assert (await _headers(CALLER, Access(), _own_word))["cache-control"] == "private"


async def test_unauthenticated_response_is_not_stored() -> None:
    assert (await _headers(None, Access(), _plain))["cache-control"] == "no-store"


async def test_public_response_may_be_stored() -> None:
    assert "cache-control" not in await _headers(None, Access(is_optional=True), _plain)


@pytest.mark.parametrize("status", [200, 204, 205])
async def test_response_without_content_has_no_length(status: int) -> None:
    async def empty(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"0"), (b"x-own", b"1")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    answer = await AsgiClient(RequestLog(empty, RecordingLog())).get("/")
    assert answer.headers["x-own"] == "1"
    assert ("content-length" in answer.headers) is (status != 204)


async def test_pages_of_other_origins_may_read_the_headers_of_a_response() -> None:
    app = RequestLog(CrossOrigin(ErrorMiddleware(_nothing, {}), {"/open"}), RecordingLog())
    answer = await AsgiClient(app).get("/open")
    assert answer.headers["access-control-allow-origin"] == "*"
    exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
    assert {"retry-after", "x-request-id", "etag"} <= set(exposed)
    preflight = await AsgiClient(app).request("OPTIONS", "/open")
    assert (preflight.status, preflight.body) == (204, b"")
    assert "content-length" not in preflight.headers
    assert "access-control-expose-headers" not in (await AsgiClient(app).get("/other")).headers
