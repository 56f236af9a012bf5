"""`POST /mcp`: the declared route and its handler."""

from contextlib import ExitStack
from typing import Any, Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.mcp.caller_left import run_while_connected
from farebox.mcp.handler import INITIALIZE, PROTOCOL_VERSION, TOOLS_CALL, RpcHandler
from farebox.mcp.jsonrpc import (
    RpcFault,
    RpcId,
    RpcMessage,
    RpcNotification,
    RpcRequest,
    read_message,
)
from farebox.mcp.prepared_call import AT_END, SEND, SHARE
from farebox.mcp.rpc_error import RpcError, RpcReason
from farebox.mcp.write_response import write_response
from farebox.web.endpoint import (
    Endpoint,
    Example,
    FailureShape,
    Parameter,
    ParameterLocation,
    Rate,
    RateClass,
    ResponseDeclaration,
    RouteDeclaration,
    text,
)
from farebox.web.error_responses import Failure
from farebox.web.guard import Access, share_of
from farebox.web.request_body import read_body
from farebox.web.request_context import context_of
from farebox.web.responses import send_json

PATH: Final = "/mcp"
_encode: Final = msgspec.json.Encoder().encode


class RpcErrorBody(msgspec.Struct, frozen=True):
    """An error of JSON-RPC 2.0; `data.reason` is for programs and stays."""

    code: int
    message: str
    data: dict[str, Any]


class RpcRequestBody(msgspec.Struct, frozen=True):
    """A request, or a notification, which has no id."""

    jsonrpc: str
    method: str
    id: str | int | None = None
    params: dict[str, Any] = {}


class RpcResponseBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """A response: it has a result or an error."""

    jsonrpc: str
    id: str | int | None
    result: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    error: RpcErrorBody | msgspec.UnsetType = msgspec.UNSET


def failure_body(failure: Failure) -> bytes:
    """Render a request that failed before its message was read."""
    error = RpcError(failure.code, failure.message, {"requestId": failure.request_id})
    return _error_body(None, error)


MCP: Final = RouteDeclaration(
    method="POST",
    path=PATH,
    tag="agents",
    summary="The MCP server of the service (protocol 2025-06-18): search_services and paid_call.",
    request=RpcRequestBody,
    parameters=(
        Parameter(
            "MCP-Protocol-Version",
            f"{PROTOCOL_VERSION}, after initialize.",
            text(max_length=64),
            ParameterLocation.HEADER,
        ),
    ),
    responses={
        200: ResponseDeclaration("The response to a request.", RpcResponseBody),
        202: ResponseDeclaration("A notification was taken."),
    },
    access=Access(is_optional=True, is_for_any_key=True),
    rate=Rate(RateClass.DISCOVERY, cost=3),
    errors=(ErrorCode.INVALID_REQUEST, ErrorCode.ORIGIN_NOT_ALLOWED),
    failure=FailureShape(RpcResponseBody, failure_body),
    example=Example(
        request={"jsonrpc": "2.0", "id": 1, "method": "ping"},
        response={"jsonrpc": "2.0", "id": 1, "result": {}},
    ),
)


class ForeignOrigin(Refusal):
    """A page of another origin sent the request (MCP 2025-06-18, Streamable HTTP, security)."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.ORIGIN_NOT_ALLOWED)


class McpEndpoint:
    """One message a request, and one JSON body a response; there is no session and no stream."""

    def __init__(self, handler: RpcHandler, *, origin: str) -> None:
        self._handler, self._origin = handler, origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        self._check_origin(headers)
        _check_media(headers)
        body = await read_body(receive)
        message = _check_version(headers, read_message(body))
        if isinstance(message, RpcFault):
            context_of(scope).add_log_fields(error=message.error.reason)
            await send_json(send, 400, _error_body(message.id, message.error))
        elif isinstance(message, RpcRequest):
            scope[SHARE], scope[SEND] = share_of(scope), send
            with ExitStack() as scope[AT_END]:
                answer = self._answer(message, scope)
                if message.method == TOOLS_CALL:  # all else is answered before a caller could leave
                    answer = run_while_connected(answer, receive)
                await write_response(send, await answer)
        else:
            await send({"type": "http.response.start", "status": 202, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    def _check_origin(self, headers: dict[bytes, bytes]) -> None:
        """Refuse pages of other origins; the server has checked the Host header before."""
        origin, host = (headers.get(name, b"").decode("latin-1") for name in (b"origin", b"host"))
        if origin and origin not in (self._origin, f"http://{host}", f"https://{host}"):
            raise ForeignOrigin

    async def _answer(self, call: RpcRequest, scope: Scope) -> bytes:
        context = context_of(scope)
        context.add_log_fields(rpc=call.method[:32])
        try:
            result = await self._handler.answer(call, scope)
        except RpcError as error:
            context.add_log_fields(error=error.reason)
            if error.reason is ErrorCode.INTERNAL_ERROR:  # what is in the log is found by it
                data = {**error.data, "requestId": context.request_id}
                error = RpcError(error.reason, error.message, data)
            return _error_body(call.id, error)
        return _encode({"jsonrpc": "2.0", "id": call.id, "result": result})


class NotJson(Refusal):
    """The body has another media type."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_MEDIA_TYPE, "The body must be application/json.")


def _check_media(headers: dict[bytes, bytes]) -> None:
    media = headers.get(b"content-type", b"application/json").partition(b";")[0]
    if media.strip().lower() != b"application/json":
        raise NotJson


def _check_version(headers: dict[bytes, bytes], message: RpcMessage) -> RpcMessage:
    """Return the message, or a fault where its header names a version that is not served.

    `initialize` negotiates the version: the header binds the requests after it (MCP 2025-06-18,
    Lifecycle, and Streamable HTTP, Protocol Version Header).
    """
    served = PROTOCOL_VERSION.encode()
    is_opening = isinstance(message, RpcRequest) and message.method == INITIALIZE
    if is_opening or headers.get(b"mcp-protocol-version", served) == served:
        return message
    own_id = None if isinstance(message, RpcNotification) else message.id
    return RpcFault(RpcError(RpcReason.UNSUPPORTED_PROTOCOL_VERSION), own_id)


def _error_body(rpc_id: RpcId | None, error: RpcError) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": rpc_id, "error": error.to_json()})


def mcp_endpoints(handler: RpcHandler, *, origin: str) -> list[Endpoint]:
    """Return the route; `origin` is the public one of this service."""
    return [Endpoint(MCP, McpEndpoint(handler, origin=origin))]
