"""Read the body of `POST /mcp`: one JSON-RPC 2.0 message (MCP 2025-06-18, Streamable HTTP)."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from farebox.kernel.json_text import has_repeated_name, read_number
from farebox.mcp.rpc_error import RpcError, RpcReason

MAX_DEPTH: Final = 100
_VERSION: Final = "2.0"
_MAX_ID_CHARS: Final = 256
_MAX_ID: Final = 2**53  # a JavaScript client can count on it

RpcId = str | int
_decode_any: Final = msgspec.json.Decoder(float_hook=read_number).decode


@dataclass(frozen=True, slots=True)
class RpcRequest:
    """A request that is answered."""

    id: RpcId
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RpcNotification:
    """A message that is not answered: a notification, or a response that nobody asked for."""

    method: str


@dataclass(frozen=True, slots=True)
class RpcFault:
    """A body that is no request; `id` is that of the message where it can be read."""

    error: RpcError
    id: RpcId | None = None


RpcMessage = RpcRequest | RpcNotification | RpcFault


def read_message(body: bytes) -> RpcMessage:
    """Read one message; total over all bytes."""
    try:
        value = _decode_any(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return RpcFault(RpcError(RpcReason.PARSE_ERROR))
    if isinstance(value, list):
        return RpcFault(RpcError(RpcReason.BATCH_REFUSED))
    if not isinstance(value, dict):
        return RpcFault(RpcError(RpcReason.INVALID_REQUEST))
    if has_repeated_name(body):
        return RpcFault(RpcError(RpcReason.REPEATED_MEMBER))
    if _may_be_deep(body) and depth_of(value) > MAX_DEPTH:
        return RpcFault(RpcError(RpcReason.INVALID_REQUEST, "The body is nested too deep."))
    return _read_object(value)


def _read_object(value: dict[str, Any]) -> RpcMessage:
    own_id = value.get("id")
    is_answered = "id" in value
    if is_answered and not _is_id(own_id):
        message = "An id is a string of at most 256 characters, or a whole number."
        return RpcFault(RpcError(RpcReason.INVALID_REQUEST, message))
    if value.get("jsonrpc") != _VERSION:
        message = 'The member jsonrpc must be "2.0".'
        return RpcFault(RpcError(RpcReason.INVALID_REQUEST, message), own_id)
    method, params = value.get("method"), value.get("params", {})
    if method is None and ("result" in value or "error" in value):
        return RpcNotification("")
    if not isinstance(method, str) or not isinstance(params, dict):
        message = "The member method is a string, and params an object."
        return RpcFault(RpcError(RpcReason.INVALID_REQUEST, message), own_id)
    return RpcRequest(own_id, method, params) if own_id is not None else RpcNotification(method)


def _is_id(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _MAX_ID_CHARS
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_ID


def _may_be_deep(body: bytes) -> bool:
    """Whether there are brackets enough; it spares nearly all bodies the walk."""
    return body.count(b"{") + body.count(b"[") > MAX_DEPTH


def depth_of(value: object) -> int:
    """Return how deep arrays and objects are nested in a JSON value."""
    depth, level = 0, [value]
    while level:
        inner: list[object] = []
        for each in level:
            if isinstance(each, dict):
                inner.extend(each.values())
            elif isinstance(each, list):
                inner.extend(each)
        nested = any(isinstance(each, dict | list) for each in level)
        depth += nested
        level = inner
    return depth
