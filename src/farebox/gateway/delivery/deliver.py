"""Send a paid request to the upstream, and pass the response on to the buyer."""

from dataclasses import replace
from typing import Final

from farebox.gateway.delivery.attempt import DeliveryAttempt, DeliveryFault, NotDelivered
from farebox.gateway.delivery.keep_response import ResponseKeeper
from farebox.gateway.delivery.outcome import NoAttemptLeft, NotServed
from farebox.gateway.delivery.pass_response import (
    AttemptLost,
    BuyerLeft,
    NoEvent,
    PassedResponse,
    ResponseWriter,
    check_buyer,
)
from farebox.gateway.delivery.verdict import is_delivered_status
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.gateway.relay.hidden_value import CredentialShown, HiddenValue
from farebox.gateway.relay.relay import Relay, UpstreamRequest
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.outbound.faults import (
    CallNotSent,
    CallOutcomeUnknown,
    CallRefused,
    UnknownOutcomeReason,
)
from farebox.outbound.target import Target, parse_target
from farebox.storage.pool import Database

_RECORD_S: Final = 5.0  # of an attempt's time, to record its end after its buyer's time


class ResponseCut(Exception):
    """The response broke after a part was passed on: the connection must be cut."""

    def __init__(self, fault: DeliveryFault) -> None:
        super().__init__(fault.value)
        self.fault = fault


class Deliverer:
    """One attempt to deliver: one upstream request at most, one recorded end."""

    def __init__(
        self, database: Database, relay: Relay, keeper: ResponseKeeper, clock: Clock
    ) -> None:
        self._database, self._relay = database, relay
        self._keeper, self._clock = keeper, clock

    async def deliver(
        self,
        attempt: GatewayPayment,
        request: UpstreamRequest,
        writer: ResponseWriter,
        *,
        kept_bytes: int,
        may_repeat: bool,
    ) -> NotDelivered | None:
        """Send the request and pass the response on; None when it was delivered.

        A response of at most `kept_bytes` is recorded and stored before its first byte is passed
        on; a longer one is passed on as it comes, and recorded before what marks its end. A stream
        of events is recorded after its first event. An attempt whose buyer left before the request
        was sent does not count; a short response that its buyer did not wait for is stored for the
        next attempt. A buyer who takes the response slowly uses up its own time, and not the
        upstream's; at the end of that time it counts as gone.

        Args:
            attempt: the payment as its attempt began.
            request: the upstream request.
            writer: the buyer's connection.
            kept_bytes: the longest response that is stored.
            may_repeat: whether the upstream may get the request again after an unknown outcome.

        Raises:
            BuyerLeft: nothing was delivered; the attempt has ended, or was given back.
            ResponseCut: a part was passed on, and its end was not.
            Outage: nothing was passed on, and the end could not be recorded.
        """
        one = DeliveryAttempt(
            self._database, self._keeper, self._clock, attempt, may_repeat=may_repeat
        )
        writer.limit_time(one.left_s - _RECORD_S)
        passed = PassedResponse(one, writer, HiddenValue(request.credential), kept_bytes)
        try:
            return await self._attempt(one, request, writer, passed)
        except AttemptLost:
            if passed.is_started:
                raise ResponseCut(DeliveryFault.LOST) from None
            return await one.find_lost()
        except BuyerLeft:
            if passed.is_recorded:
                return None
            raise

    async def give_back(self, attempt: GatewayPayment) -> NotServed | NoAttemptLeft:
        """End an attempt whose request was not sent to the upstream; it does not count as one."""
        one = DeliveryAttempt(self._database, self._keeper, self._clock, attempt, may_repeat=True)
        try:
            failed = await one.give_back()
        except Outage:
            return NotServed(attempt)
        is_open = failed.state is PaymentState.PAID
        return NotServed(failed.payment) if is_open else NoAttemptLeft(failed.payment)

    async def _attempt(
        self,
        one: DeliveryAttempt,
        request: UpstreamRequest,
        writer: ResponseWriter,
        passed: PassedResponse,
    ) -> NotDelivered | None:
        """Pass the response on that is stored, or that of the upstream."""
        held = await one.find_held()
        try:
            await check_buyer(writer)
        except BuyerLeft:
            await one.give_back()
            raise
        one.check()
        if held is not None:
            await passed.pass_whole(held, is_stored=True)
            return None
        await one.record_sending()
        limited = _limit(request, writer)
        try:
            failed = await self._call(one, limited, passed)
        except (CallOutcomeUnknown, CredentialShown, NoEvent) as error:
            fault = _fault_of(error, is_limited=limited is not request)
            if passed.is_recorded:
                raise ResponseCut(fault) from error
            self._relay.record_error(one.payment, error)
            failed = await one.fail(fault)
            if passed.is_started:
                raise ResponseCut(fault) from error
        return failed

    async def _call(
        self, one: DeliveryAttempt, request: UpstreamRequest, passed: PassedResponse
    ) -> NotDelivered | None:
        """Send the request and pass the response on.

        Raises:
            CallOutcomeUnknown, CredentialShown, NoEvent: the end of the attempt is not recorded.
        """
        try:
            async with self._relay.call(request) as response:
                status = response.status
                if not is_delivered_status(status):
                    self._relay.record_status(one.payment, status)
                    return await one.fail(DeliveryFault.STATUS, may_repeat=True, status=status)
                await passed.run(response, _host_of(request.url))
                self._relay.record_status(one.payment, status)
                return None
        except (CallRefused, CallNotSent) as error:
            self._relay.record_error(one.payment, error)
            if isinstance(error, CallNotSent) and error.is_own_congestion:
                return await one.give_back()
            return await one.fail(DeliveryFault.NOT_REACHED, may_repeat=True)
        except BuyerLeft:
            if not passed.is_recorded:
                await one.end_without_buyer(passed.whole)
            raise


_FAULTS: Final = {
    UnknownOutcomeReason.DEADLINE: DeliveryFault.TIMEOUT,
    UnknownOutcomeReason.TOO_LARGE: DeliveryFault.TOO_LARGE,
}


def _fault_of(
    error: CallOutcomeUnknown | CredentialShown | NoEvent, *, is_limited: bool
) -> DeliveryFault:
    if isinstance(error, CredentialShown):
        return DeliveryFault.CREDENTIAL
    if isinstance(error, NoEvent):
        return DeliveryFault.NO_EVENT
    if is_limited and error.reason is UnknownOutcomeReason.TOO_LARGE:
        return DeliveryFault.ABOVE_LIMIT
    return _FAULTS.get(error.reason, DeliveryFault.BROKEN)


def _limit(request: UpstreamRequest, writer: ResponseWriter) -> UpstreamRequest:
    """Limit the response to what the buyer can be shown."""
    if writer.limit_bytes is None or writer.limit_bytes >= request.max_response_bytes:
        return request
    return replace(request, max_response_bytes=writer.limit_bytes)


def _host_of(url: str) -> str:
    target = parse_target(url)
    return target.host if isinstance(target, Target) else url
