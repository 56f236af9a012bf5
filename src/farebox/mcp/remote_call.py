"""A paid call to a resource outside this service."""

from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from farebox.kernel.slots import Share
from farebox.mcp.call_failure import REDIRECT, failure_of, paid_call_failed
from farebox.mcp.call_response import MAX_RESPONSE_BYTES, CallResponse
from farebox.mcp.prepared_call import PreparedCall
from farebox.outbound.client import OutboundResponse
from farebox.outbound.faults import CallNotSent, CallOutcomeUnknown, CallRefused
from farebox.outbound.request import OutboundRequest
from farebox.x402.headers import PAYMENT_SIGNATURE

_REDIRECTS: Final = range(300, 400)


class CallClient(Protocol):
    """Sends a request, as `OutboundClient` and `LocalClient` do."""

    def call(self, request: OutboundRequest) -> AbstractAsyncContextManager[OutboundResponse]:
        """Send the request and yield the response, its body unread."""
        ...


async def call_remote(
    client: CallClient, call: PreparedCall, *, owner: Share, deadline_s: float
) -> CallResponse:
    """Send the call, once; `owner` is the share of who caused it.

    Raises:
        RpcError: PAID_CALL_FAILED; a redirect is a failure, and its target is not passed on.
    """
    headers = [("Accept", "application/json, */*;q=0.8")]
    if call.body is not None:
        headers.append(("Content-Type", "application/json"))
    if call.signature is not None:
        headers.append((PAYMENT_SIGNATURE, call.signature.reveal()))
    request = OutboundRequest(
        url=call.url,
        method=call.method.value,
        headers=headers,
        body=call.body,
        deadline_s=deadline_s,
        max_answer_bytes=MAX_RESPONSE_BYTES,
        owner=owner,
    )
    has_payment = call.signature is not None
    try:
        async with client.call(request) as response:
            if response.status in _REDIRECTS:
                raise paid_call_failed(REDIRECT, has_payment=has_payment)
            return CallResponse(response.status, response.headers, await response.read())
    except (CallRefused, CallNotSent, CallOutcomeUnknown) as error:
        raise failure_of(error, has_payment=has_payment) from None
