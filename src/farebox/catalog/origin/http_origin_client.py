"""Fetch a resource's own 402 over HTTP."""

from typing import Final

from farebox.catalog.origin.payment_required import (
    OriginFailure,
    OriginFault,
    OriginResponse,
    parse_payment_required,
)
from farebox.outbound.client import OutboundClient, OutboundResponse
from farebox.outbound.faults import CallNotSent, CallOutcomeUnknown, CallRefused
from farebox.outbound.request import OutboundRequest
from farebox.outbound.target import TargetFault
from farebox.x402.headers import PAYMENT_REQUIRED, header_bytes

MAX_ANSWER_BYTES: Final = 256 * 1024
DEADLINE_S: Final = 8.0
_PAYMENT_REQUIRED_STATUS: Final = 402
_EMPTY_OBJECT: Final = b"{}"
_BRACES: Final = frozenset("{}")
_JSON: Final = (("Content-Type", "application/json"), ("Accept", "application/json"))


class HttpOriginClient:
    """Fetches through the outbound client, within a deadline."""

    def __init__(self, client: OutboundClient, *, deadline_s: float = DEADLINE_S) -> None:
        self._client, self._deadline_s = client, deadline_s

    async def fetch_payment_required(self, url: str, *, method: str | None) -> OriginResponse:
        """Send one unpaid request and parse the 402 that answers it.

        The request is GET, HEAD, or POST with an empty JSON object, as `method` has it. Any other
        method becomes GET: a stranger who names a URL must not make this service send a request
        that changes or deletes something there.
        """
        if _BRACES.intersection(url):  # a template (RFC 6570) names no resource
            return OriginFailure(OriginFault.NOT_CALLED, TargetFault.MALFORMED.value)
        try:
            async with self._client.call(_request(url, method, self._deadline_s)) as answer:
                return await _read_answer(answer)
        except CallRefused as refused:
            return OriginFailure(OriginFault.NOT_CALLED, refused.reason.value)
        except CallNotSent as unsent:
            is_own = unsent.is_own_congestion
            fault = OriginFault.NOT_ASKED if is_own else OriginFault.UNREACHABLE
            return OriginFailure(fault, unsent.reason.value)
        except CallOutcomeUnknown as unknown:
            return OriginFailure(OriginFault.NO_ANSWER, unknown.reason.value)


def _request(url: str, method: str | None, deadline_s: float) -> OutboundRequest:
    safe_method = method if method in ("HEAD", "POST") else "GET"
    return OutboundRequest(
        url,
        method=safe_method,
        headers=_JSON if safe_method == "POST" else _JSON[1:],
        body=_EMPTY_OBJECT if safe_method == "POST" else None,
        deadline_s=deadline_s,
        max_answer_bytes=MAX_ANSWER_BYTES,
    )


async def _read_answer(answer: OutboundResponse) -> OriginResponse:
    if answer.status != _PAYMENT_REQUIRED_STATUS:
        return OriginFailure(OriginFault.NO_PAYMENT_ASKED, str(answer.status))
    header = answer.header(PAYMENT_REQUIRED)
    document = await answer.read() if header is None else header_bytes(header)
    required = None if document is None else parse_payment_required(document)
    return OriginFailure(OriginFault.UNREADABLE) if required is None else required
