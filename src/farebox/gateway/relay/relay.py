"""Requests to upstreams: bounded in all, broken off by the circuit breaker, never sent again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from farebox.gateway.relay.breaker import UpstreamBreaker
from farebox.gateway.relay.header_rules import Header
from farebox.gateway.relay.received_body import MEMORY_BYTES, ReceivedBody
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.secret import Secret
from farebox.outbound.client import OutboundClient, OutboundResponse
from farebox.outbound.faults import CallNotSent, CallRefused
from farebox.outbound.request import OutboundRequest
from farebox.outbound.target import Target, parse_target

_CHECK_S: Final = 5.0
_FULL_RETRY_S: Final = 1


class UpstreamUnavailable(Refusal):
    """No paid request is taken for the upstream now; nothing was charged."""

    retry_after_s: int

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(ErrorCode.UPSTREAM_UNAVAILABLE)
        self.retry_after_s = max(1, ceil(retry_after_s))


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """A request to an upstream, sent at most once for each attempt."""

    url: str
    method: str
    body: ReceivedBody
    timeout_s: int
    max_response_bytes: int
    headers: tuple[Header, ...] = field(default=(), repr=False)  # a credential may be among them
    credential: Secret[str] | None = None  # the value that is among them
    owner: str = ""  # of the wrapper, under the name of its share


class Relay:
    """Sends requests to upstreams through a client of its own."""

    def __init__(self, client: OutboundClient, breaker: UpstreamBreaker, clock: Clock) -> None:
        self._client, self._breaker, self._clock = client, breaker, clock

    async def check(self, url: str, *, owner: str = "") -> None:
        """Check, before money moves, that a request may be sent to the URL now.

        `owner` is the wrapper's, under the name of its share.

        Raises:
            UpstreamUnavailable: its breaker is open, its name has no public address, or too many
                requests to upstreams are in progress.
        """
        wait_s = self._breaker.admit(upstream_key(url), self._clock.monotonic())
        if wait_s > 0:
            raise UpstreamUnavailable(wait_s)
        if not self._client.has_room:
            raise UpstreamUnavailable(_FULL_RETRY_S)
        try:
            await self._client.check_address(url, deadline_s=_CHECK_S, owner=owner)
        except (CallRefused, CallNotSent) as error:
            self.record_failure(url, error)
            raise UpstreamUnavailable(_CHECK_S) from None

    @asynccontextmanager
    async def call(self, request: UpstreamRequest) -> AsyncIterator[OutboundResponse]:
        """Send the request and yield the response, its body unread.

        Raises:
            CallRefused, CallNotSent, CallOutcomeUnknown: as `OutboundClient.call`.
        """
        is_long = request.body.length > MEMORY_BYTES
        outbound = OutboundRequest(
            url=request.url,
            method=request.method,
            headers=request.headers,
            body=request.body.content,
            body_length=request.body.length if is_long else None,
            deadline_s=request.timeout_s,
            max_answer_bytes=request.max_response_bytes,
            owner=request.owner,
        )
        async with self._client.call(outbound) as response:
            yield response

    def record_success(self, url: str) -> None:
        """Note that a response of the upstream was delivered."""
        self._breaker.record_success(upstream_key(url))

    def record_failure(self, url: str, error: Exception | None = None) -> None:
        """Note that a request to the upstream was not delivered.

        Congestion of this service, which `error` may tell, says nothing about the upstream.
        """
        if isinstance(error, CallNotSent) and error.is_own_congestion:
            return
        self._breaker.record_failure(upstream_key(url), self._clock.monotonic())


def upstream_key(url: str) -> str:
    """Return host and port of an upstream's URL; empty for one that cannot be called."""
    target = parse_target(url)
    return f"{target.host}:{target.port}" if isinstance(target, Target) else ""
