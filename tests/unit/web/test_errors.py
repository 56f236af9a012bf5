import orjson
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from farebox.kernel.errors import Outage, Refusal
from farebox.web.answers import send_json
from farebox.web.errors import ErrorEdge, Failure
from farebox.web.request_log import RequestLog
from support.recording import RecordingLog


async def _no_body() -> Message:
    raise AssertionError("nothing reads the body here")


async def _answer(
    error: BaseException, *, method: str = "POST", path: str = "/thing", begun: bool = False
) -> tuple[list[Message], RecordingLog]:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise error

    def own(failure: Failure) -> bytes:
        return orjson.dumps({"code": failure.code, "status": failure.status})

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    log = RecordingLog()
    scope: Scope = {"type": "http", "method": method, "path": path, "headers": []}
    edge = ErrorEdge(app, {"/own": own})
    await RequestLog(edge, log)(scope, _no_body, send)
    return sent, log


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Refusal("slug_taken", "That name is taken."), 400, "slug_taken"),
        (Refusal("body_too_large", "Too large."), 413, "body_too_large"),
        (Outage("database", "pg at 10.0.0.1 is away"), 503, "service_unavailable"),
        (HTTPException(404), 404, "not_found"),
        (HTTPException(405, headers={"Allow": "POST, GET"}), 405, "method_not_allowed"),
        (ValueError("a planted detail"), 500, "internal_error"),
    ],
)
async def test_each_family_of_exceptions_has_its_status_and_the_uniform_body(
    error: Exception, status: int, code: str
) -> None:
    sent, log = await _answer(error)
    body = orjson.loads(sent[1]["body"])
    headers = dict(sent[0]["headers"])
    assert sent[0]["status"] == status
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "requestId"}
    assert body["error"]["code"] == code
    assert body["error"]["requestId"].encode() == headers[b"x-request-id"]
    assert log.events[0][1] | {"ms": 0} == {
        "method": "POST",
        "path": "/thing",
        "status": status,
        "ms": 0,
        "error": code,
    }


async def test_a_refusal_keeps_its_words_and_a_bug_and_an_outage_keep_theirs_to_themselves() -> (
    None
):
    for error, shown in (
        (Refusal("no", "That name is taken."), True),
        (ValueError("That name is taken."), False),
        (Outage("database", "That name is taken."), False),
    ):
        sent, _ = await _answer(error)
        assert (b"That name is taken." in sent[1]["body"]) is shown


async def test_a_405_names_what_is_allowed() -> None:
    sent, _ = await _answer(HTTPException(405, headers={"Allow": "POST, GET, HEAD"}))
    assert dict(sent[0]["headers"])[b"allow"] == b"GET, HEAD, POST"


async def test_a_method_that_is_not_a_word_is_not_repeated() -> None:
    error = HTTPException(405, headers={"Allow": "POST"})
    sent, _ = await _answer(error, method="<script>")
    assert b"script" not in sent[1]["body"]


async def test_a_route_with_a_shape_of_its_own_fails_in_it() -> None:
    sent, _ = await _answer(ValueError(), path="/own")
    assert orjson.loads(sent[1]["body"]) == {"code": "internal_error", "status": 500}


async def test_half_an_answer_is_cut_and_not_followed_by_another() -> None:
    with pytest.raises(ValueError, match="planted"):
        await _answer(ValueError("planted"), begun=True)


async def test_a_caller_who_left_gets_no_answer() -> None:
    sent, log = await _answer(ClientDisconnect())
    assert sent == []
    assert log.events[0][1]["error"] == "caller_left"


async def test_an_answer_is_json_with_its_length() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await send_json(send, 201, b"{}", [(b"x-more", b"1")])
    assert sent == [
        {
            "type": "http.response.start",
            "status": 201,
            "headers": [
                (b"content-type", b"application/json"),
                (b"content-length", b"2"),
                (b"x-more", b"1"),
            ],
        },
        {"type": "http.response.body", "body": b"{}"},
    ]
