import orjson
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from farebox.automation.refusal import spec_mismatch
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import CommandRefused, Outage, Refusal
from farebox.web.error_responses import EARLY_CODES, EarlyResponse, ErrorMiddleware, Failure
from farebox.web.request_body import EncodedBody
from farebox.web.request_context import RequestLog
from farebox.web.responses import send_json
from support.recording_log import RecordingLog


async def _no_body() -> Message:
    raise AssertionError("nothing reads the body here")


async def _respond(
    error: BaseException, *, method: str = "POST", path: str = "/thing", begun: bool = False
) -> tuple[list[Message], RecordingLog]:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise error

    def own(failure: Failure) -> bytes:
        return orjson.dumps({"code": failure.code, "status": failure.code.status})

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    log = RecordingLog()
    scope: Scope = {"type": "http", "method": method, "path": path, "headers": []}
    edge = ErrorMiddleware(app, {"/own": own})
    await RequestLog(edge, log)(scope, _no_body, send)
    return sent, log


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Refusal(ErrorCode.INVALID_LIMIT, "It is no number."), 400, "invalid_limit"),
        (Refusal(ErrorCode.BODY_TOO_LARGE), 413, "body_too_large"),
        (CommandRefused("planted"), 500, "internal_error"),
        (Outage("database", "pg at 10.0.0.1 is away"), 503, "service_unavailable"),
        (HTTPException(404), 404, "not_found"),
        (HTTPException(405, headers={"Allow": "POST, GET"}), 405, "method_not_allowed"),
        (ValueError("a planted detail"), 500, "internal_error"),
    ],
)
async def test_each_exception_family_has_its_status_and_the_uniform_body(
    error: Exception, status: int, code: str
) -> None:
    sent, log = await _respond(error)
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


async def test_response_shows_the_message_of_a_refusal_and_hides_other_messages() -> None:
    for error, shown in (
        (Refusal(ErrorCode.NAME_TAKEN, "That name is taken."), True),
        (ValueError("That name is taken."), False),
        (Outage("database", "That name is taken."), False),
    ):
        sent, _ = await _respond(error)
        assert (b"That name is taken." in sent[1]["body"]) is shown


async def test_outage_response_has_retry_after() -> None:
    sent, _ = await _respond(Outage("database", "away"))
    assert dict(sent[0]["headers"])[b"retry-after"] == b"5"


@pytest.mark.parametrize("code", [each for each in ErrorCode if each.status == 503])
async def test_every_refusal_as_unavailable_has_retry_after(code: ErrorCode) -> None:
    sent, _ = await _respond(Refusal(code))
    assert dict(sent[0]["headers"])[b"retry-after"] == b"60"


async def test_encoded_body_is_refused_with_the_coding_that_is_taken() -> None:
    sent, _ = await _respond(EncodedBody())
    assert sent[0]["status"] == 415
    assert dict(sent[0]["headers"])[b"accept-encoding"] == b"identity"


@pytest.mark.parametrize("code", EARLY_CODES)
def test_early_response_says_when_to_come_back_where_that_may_help(code: ErrorCode) -> None:
    head = EarlyResponse(code).to_bytes("0" * 16, ()).partition(b"\r\n\r\n")[0]
    assert (b"\r\nretry-after: 1" in head) is (code.status in (429, 503))


async def test_method_not_allowed_response_names_the_allowed_methods() -> None:
    sent, _ = await _respond(HTTPException(405, headers={"Allow": "POST, GET, HEAD"}))
    assert dict(sent[0]["headers"])[b"allow"] == b"GET, HEAD, POST"


async def test_method_that_is_not_a_word_is_not_repeated_in_the_response() -> None:
    error = HTTPException(405, headers={"Allow": "POST"})
    sent, _ = await _respond(error, method="<script>")
    assert b"script" not in sent[1]["body"]


async def test_route_with_its_own_failure_shape_fails_in_it() -> None:
    sent, _ = await _respond(ValueError(), path="/own")
    assert orjson.loads(sent[1]["body"]) == {"code": "internal_error", "status": 500}


async def test_error_after_the_response_started_is_raised() -> None:
    with pytest.raises(ValueError, match="planted"):
        await _respond(ValueError("planted"), begun=True)


async def test_disconnected_caller_gets_no_response() -> None:
    sent, log = await _respond(ClientDisconnect())
    assert sent == []
    assert log.events[0][1]["error"] == "caller_left"


async def test_send_json_sends_json_with_its_length() -> None:
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


async def test_refusal_names_the_member_of_the_body_that_it_is_about() -> None:
    sent, _ = await _respond(spec_mismatch("schedule.everySeconds", "It is too short."))
    error = orjson.loads(sent[1]["body"])["error"]
    assert (error["code"], error["details"]) == (
        "spec_mismatch",
        {"field": "schedule.everySeconds"},
    )


async def test_refusal_of_no_single_member_has_no_details() -> None:
    sent, _ = await _respond(Refusal(ErrorCode.INVALID_LIMIT))
    assert "details" not in orjson.loads(sent[1]["body"])["error"]
