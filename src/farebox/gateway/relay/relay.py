"""Requests to upstreams: bounded for each owner, broken off by the breaker, never sent again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Final, Self

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.payment import GatewayPayment
from farebox.gateway.relay.breaker import UpstreamBreaker
from farebox.gateway.relay.header_rules import Header
from farebox.gateway.relay.received_body import MEMORY_BYTES, ReceivedBody
from farebox.gateway.wrapper import Wrapper
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.secret import Secret
from farebox.kernel.slots import Share, SharedRoom
from farebox.outbound.client import OutboundClient, OutboundResponse
from farebox.outbound.faults import (
    CallNotSent,
    CallOutcomeUnknown,
    CallRefused,
    UnknownOutcomeReason,
)
from farebox.outbound.request import OutboundRequest

_CHECK_S: Final = 5.0
_FULL_RETRY_S: Final = 1
_FAILING: Final = frozenset({502, 503, 504})  # RFC 9110, 15.6: of nobody's request in particular


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
    owner: Share | None = None  # of the wrapper


@dataclass(slots=True)
class _HeldSlot:
    """The slot of a payment to a wrapper: whose it is, and how many calls share it."""

    share: Share
    calls: int = 0


class UpstreamSlots:
    """The slots of paid requests, from before the payment is settled until the response is passed.

    Owners divide them by the rule of `SharedRoom`, in which those that are not established are new.
    Calls with one payment to one wrapper share its slot. Anybody may present one payment at
    wrappers of several owners: each of them has a slot of its own.
    """

    def __init__(self, most: int) -> None:
        self._room = SharedRoom(most)
        self._slots: dict[tuple[str, PaymentIdentity], _HeldSlot] = {}

    def has_room_for(self, wrapper: Wrapper) -> bool:
        """Whether the owner of the wrapper may take a slot now."""
        return self._room.has_room_for(owners_share(wrapper))

    def is_held_for(self, wrapper: Wrapper, payment: PaymentIdentity) -> bool:
        """Whether a call with the payment to the wrapper has its slot."""
        return (wrapper.id, payment) in self._slots

    def take(self, wrapper: Wrapper, payment: PaymentIdentity) -> bool:
        """Take the slot of a payment to the wrapper, if its owner may."""
        held = self._slots.get((wrapper.id, payment))
        if held is None:
            if not self.has_room_for(wrapper):
                return False
            held = self._slots[wrapper.id, payment] = _HeldSlot(owners_share(wrapper))
            self._room.take(held.share)
        held.calls += 1
        return True

    def release(self, wrapper: Wrapper, payment: PaymentIdentity) -> None:
        """Give the slot of a payment back, at the end of the last call that has taken it.

        It goes back to whom it was taken from: the wrapper may have been changed since.
        """
        held = self._slots[wrapper.id, payment]
        held.calls -= 1
        if not held.calls:
            del self._slots[wrapper.id, payment]
            self._room.release(held.share)


def owners_share(wrapper: Wrapper) -> Share:
    """The share of the slots that the owner of the wrapper takes of."""
    return Share(wrapper.owner, is_new=not wrapper.is_established)


class UpstreamSlot:
    """The slot of one payment to a wrapper, as a call that acts for the payment takes it.

    It is given back at the end of its context, if it was taken.
    """

    def __init__(
        self,
        slots: UpstreamSlots,
        breaker: UpstreamBreaker,
        clock: Clock,
        wrapper: Wrapper,
        payment: PaymentIdentity,
    ) -> None:
        self._slots, self._breaker, self._clock = slots, breaker, clock
        self._wrapper, self._payment = wrapper, payment
        self._is_taken = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def take_unpaid(self) -> None:
        """Take the slot before the payment is settled.

        Raises:
            UpstreamUnavailable: there is none, or the breaker is open.
        """
        if not self._slots.is_held_for(self._wrapper, self._payment):
            if not self._slots.has_room_for(self._wrapper):
                raise UpstreamUnavailable(_FULL_RETRY_S)
            now = self._clock.monotonic()
            wait_s = self._breaker.admit(self._wrapper.id, self._payment, now)
            if wait_s > 0:
                raise UpstreamUnavailable(wait_s)
        self.take()

    def take(self) -> bool:
        """Take the slot for a request that is paid; False when there is none."""
        self._is_taken = self._is_taken or self._slots.take(self._wrapper, self._payment)
        return self._is_taken

    def release(self) -> None:
        """Give the slot back; nothing where it was not taken."""
        if not self._is_taken:
            return
        self._is_taken = False
        self._slots.release(self._wrapper, self._payment)
        if not self._slots.is_held_for(self._wrapper, self._payment):
            self._breaker.end_trial(self._wrapper.id, self._payment)


class Relay:
    """Sends requests to upstreams through a client of its own."""

    def __init__(
        self, client: OutboundClient, slots: UpstreamSlots, breaker: UpstreamBreaker, clock: Clock
    ) -> None:
        self._client, self._slots, self._breaker = client, slots, breaker
        self._clock = clock

    async def check(self, wrapper: Wrapper, url: str) -> None:
        """Check, before money moves, that a request to the wrapper may be sent to the URL now.

        It reserves and counts nothing: whoever presents a payment that nobody has judged may cause
        it.

        Raises:
            UpstreamUnavailable: the wrapper's breaker is open, its owner has no slot, or the name
                has no public address.
        """
        wait_s = self._breaker.wait_s(wrapper.id, self._clock.monotonic())
        if wait_s > 0:
            raise UpstreamUnavailable(wait_s)
        if not self._slots.has_room_for(wrapper):
            raise UpstreamUnavailable(_FULL_RETRY_S)
        try:
            await self._client.check_address(url, deadline_s=_CHECK_S, owner=wrapper.share)
        except (CallRefused, CallNotSent):
            raise UpstreamUnavailable(_CHECK_S) from None

    def slot(self, wrapper: Wrapper, payment: PaymentIdentity) -> UpstreamSlot:
        """Return the slot of a payment, which is not taken yet."""
        return UpstreamSlot(self._slots, self._breaker, self._clock, wrapper, payment)

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

    def record_status(self, payment: GatewayPayment, status: int) -> None:
        """Note the status of an upstream's response.

        All but 502, 503 and 504 say that it serves: they may be the result of one request, or of
        the seller's credential.
        """
        if status in _FAILING:
            self._record_failure(payment)
        else:
            self._breaker.record_answer(payment.wrapper_id)

    def record_error(self, payment: GatewayPayment, error: Exception) -> None:
        """Note why a request to the upstream was not delivered.

        A call that this service refused, or had no room for, says nothing about the upstream. One
        whose answer cannot be delivered for its content says that the upstream serves.
        """
        match error:
            case CallRefused():
                return
            case CallNotSent() if error.is_own_congestion:
                return
            case CallNotSent():
                self._record_failure(payment)
            case CallOutcomeUnknown() if error.reason is not UnknownOutcomeReason.TOO_LARGE:
                self._record_failure(payment)
            case _:
                self._breaker.record_answer(payment.wrapper_id)

    def _record_failure(self, payment: GatewayPayment) -> None:
        now = self._clock.monotonic()
        self._breaker.record_failure(payment.wrapper_id, payment.identity, now)
