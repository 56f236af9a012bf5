"""A paid call to a wrapper of our own gateway, in process: no socket, the same rules."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Scope, Send

from farebox.gateway.buyer_connection import RESPONSE_LIMIT
from farebox.gateway.delivery.deliver import ResponseCut
from farebox.mcp.call_failure import paid_call_failed
from farebox.mcp.call_response import MAX_RESPONSE_BYTES, CallOutcome, CallResponse
from farebox.mcp.prepared_call import SEND, PreparedCall, Sender
from farebox.web.request_context import KEY, RequestContext
from farebox.web.written_bytes import UNTIL_TAKEN
from farebox.x402.headers import PAYMENT_SIGNATURE


class InProcessGateway:
    """Calls the gateway's endpoint without a socket."""

    def __init__(self, gateway: ASGIApp) -> None:
        self._gateway = gateway

    async def call(
        self, call: PreparedCall, sender: Sender, leaving: asyncio.Event
    ) -> CallResponse:
        """Call the wrapper on behalf of `sender`: the call is counted as the sender's.

        `leaving` is set once nobody waits for the response: a payment that was reserved before is
        completed, and its response stays to be delivered. Any other is not charged.

        Raises:
            RpcError: PAID_CALL_FAILED; the response broke off, or is too large.
            Refusal, Outage: nothing was charged.
        """
        return await _exchange(self._gateway, call, sender, leaving)


async def _exchange(
    gateway: ASGIApp, call: PreparedCall, sender: Sender, leaving: asyncio.Event
) -> CallResponse:
    exchange = _Exchange(call.body or b"", leaving, sender[SEND])
    try:
        await gateway(_scope_of(call, sender), exchange.receive, exchange.send)
    except ResponseCut as cut:
        raise paid_call_failed(
            cut.fault.value, has_payment=True, outcome=CallOutcome.SETTLED_NOT_DELIVERED
        ) from None
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in exchange.headers
    ]
    return CallResponse(exchange.status, headers, bytes(exchange.body), is_own_gateway=True)


def _scope_of(call: PreparedCall, sender: Sender) -> Scope:
    parts = urlsplit(call.url)
    headers: list[tuple[bytes, bytes]] = [(b"accept", b"*/*"), (b"accept-encoding", b"identity")]
    if call.body is not None:
        headers.append((b"content-type", b"application/json"))
        headers.append((b"content-length", b"%d" % len(call.body)))
    if call.signature is not None:
        headers.append((PAYMENT_SIGNATURE.lower().encode(), call.signature.reveal().encode()))
    context = RequestContext()
    context.request_id = sender[KEY].request_id
    return {
        **sender,
        KEY: context,
        RESPONSE_LIMIT: MAX_RESPONSE_BYTES,
        "method": call.method.value,
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "headers": headers,
    }


class _Exchange:
    """The ASGI channels of the call: one body in, a response out that the gateway bounds."""

    def __init__(self, body: bytes, leaving: asyncio.Event, to_caller: Send) -> None:
        self._request: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        self.status, self.body = 0, bytearray()
        self.headers: list[tuple[bytes, bytes]] = []
        self._leaving, self._to_caller = leaving, to_caller

    async def receive(self) -> Message:
        """Return the body, and a disconnect once nobody waits for the response."""
        if self._request:
            return self._request.pop()
        await self._leaving.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any] | Message) -> None:
        """Take a part of the response; whether anybody is there for it, the caller's server knows.

        Raises:
            OSError: the caller has left.
        """
        if message["type"] == UNTIL_TAKEN:
            if self._leaving.is_set():
                raise ConnectionResetError
            if not message["but"]:
                await self._to_caller(message)
            return
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", ()))
            return
        self.body += message.get("body", b"")
