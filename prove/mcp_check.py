"""Check the responses of `/mcp` to any message, without the service's code."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from prove.mcp_messages import VERSION, Sent, Shape

_TOKEN: Final = re.compile(r"zq[0-9]+q")
# what the text of an exception, a class or a statement looks like
_EXCEPTION: Final = re.compile(
    r"Traceback|\bFile \"|\w(?:Error|Exception|Outage)\b|Error\(|asyncpg|aiohttp|msgspec|starlette"
    r"|uvicorn|postgres|site-packages|\.py\b|SELECT |<class|object at 0x|Errno|Outage\("
)
_CODES: Final = range(-32768, -31999)  # JSON-RPC 2.0, section 5.1
_MEMBERS: Final = {"jsonrpc", "id", "result", "error"}


@dataclass(frozen=True, slots=True)
class Received:
    """A response as received."""

    status: int
    body: bytes


@dataclass(slots=True)
class Findings:
    """The faults of one response; `is_mixed`: it is that of another message."""

    faults: list[str]
    is_mixed: bool = False
    reason: str = ""


def judge(sent: Sent, received: Received, reasons: frozenset[str]) -> Findings:
    """Judge a response; `reasons` are those that the service documents."""
    if received.status == 202:
        is_fitting = not received.body and sent.shape in (Shape.NOTHING, Shape.ANY)
        return Findings([] if is_fitting else ["a request was not answered"])
    try:
        response = json.loads(received.body)
    except (ValueError, RecursionError):
        return Findings(["the response is not JSON"])
    if not isinstance(response, dict):
        return Findings(["the response is no object"])
    found = Findings(list(_envelope_faults(response)))
    if found.faults:
        return found
    found.is_mixed = _is_mixed(sent, received, response)
    if "error" in response:
        found.reason = str(response["error"]["data"]["reason"])
        found.faults += _error_faults(response["error"], reasons)
    elif sent.shape in (Shape.ERROR, Shape.NOTHING):
        found.faults.append("a message that is no request got a result")
    return found


def _envelope_faults(response: Mapping[str, Any]) -> Iterator[str]:
    if response.get("jsonrpc") != "2.0" or "id" not in response:
        yield "no JSON-RPC 2.0 response"
    if response.keys() - _MEMBERS or ("result" in response) == ("error" in response):
        yield f"a response has the members {sorted(response)}"
    elif "error" in response:
        yield from _error_shape_faults(response["error"])
    elif not isinstance(response["result"], dict):
        yield "the result is no object"


def _error_shape_faults(error: object) -> Iterator[str]:
    if not isinstance(error, dict) or error.keys() != {"code", "message", "data"}:
        yield f"an error without code, message and data: {str(error)[:200]}"
        return
    if type(error["code"]) is not int or error["code"] not in _CODES:
        yield f"the code is {error['code']!r}"
    if not isinstance(error["message"], str) or not error["message"]:
        yield "the error has no message"
    data = error["data"]
    if not isinstance(data, dict) or not isinstance(data.get("reason"), str) or not data["reason"]:
        yield f"the error has no reason: {str(error)[:200]}"


def _error_faults(error: Mapping[str, Any], reasons: frozenset[str]) -> Iterator[str]:
    if error["data"]["reason"] not in reasons:
        yield f"the reason {error['data']['reason']!r} is not documented"
    if error["data"]["reason"] == "internal_error":
        yield "an internal error"
    yield from exception_text(json.dumps(error))


def exception_text(text: str) -> Iterator[str]:
    """Yield a fault when a text shows something of an exception."""
    if shown := _EXCEPTION.search(text):
        yield f"exception text {shown[0]!r} in {text[:300]}"


def _is_mixed(sent: Sent, received: Received, response: Mapping[str, Any]) -> bool:
    """Whether id, tokens or result are those of another message."""
    own = response["id"]
    if not any(own == each and type(own) is type(each) for each in sent.ids):
        return True
    text = received.body.decode(errors="replace")
    own_tokens = {sent.token, *_TOKEN.findall(sent.body.decode(errors="replace"))}
    if set(_TOKEN.findall(text)) - own_tokens:
        return True
    if "result" not in response:
        return False
    result = response["result"]
    is_lost = sent.is_echoed and _status_of(result) == 200 and sent.token not in text
    return is_lost or not _FITS[sent.shape](result)


def _status_of(result: Mapping[str, Any]) -> object:
    return result.get("structuredContent", {}).get("status")


def _is_tool_result(result: Mapping[str, Any], *members: str) -> bool:
    """Whether it is a result whose text and `structuredContent` are the same JSON."""
    content = result.get("structuredContent")
    if not isinstance(content, dict) or not any(name in content for name in members):
        return False
    return bool(json.loads(result["content"][0]["text"]) == content)


def _names(result: Mapping[str, Any]) -> list[str]:
    return [tool["name"] for tool in result.get("tools", ())]


_FITS: Final[Mapping[Shape, Callable[[Mapping[str, Any]], bool]]] = {
    Shape.ANY: lambda _: True,
    Shape.ERROR: lambda _: True,
    Shape.NOTHING: lambda _: True,
    Shape.EMPTY: lambda result: result == {},
    Shape.INITIALIZED: lambda result: result.get("protocolVersion") == VERSION,
    Shape.TOOLS: lambda result: _names(result) == ["search_services", "paid_call"],
    Shape.SEARCH: lambda result: _is_tool_result(result, "resources"),
    Shape.CALL: lambda result: _is_tool_result(result, "status", "accepts"),
}
