"""Send a paid request to the upstream, and pass the response on to the buyer."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

import structlog

from farebox.gateway.delivery import payment_store
from farebox.gateway.delivery.keep_response import ResponseKeeper
from farebox.gateway.delivery.kept_response import KeptResponse
from farebox.gateway.delivery.verdict import (
    EVENT_STREAM,
    is_delivered_status,
    state_after_failure,
)
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.gateway.relay.hidden_value import CredentialShown, HiddenValue
from farebox.gateway.relay.relay import Relay, UpstreamRequest
from farebox.gateway.relay.response_headers import RawHeader, forward_response_headers
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.outbound.client import OutboundResponse
from farebox.outbound.faults import (
    CallNotSent,
    CallOutcomeUnknown,
    CallRefused,
    UnknownOutcomeReason,
)
from farebox.outbound.target import Target, parse_target
from farebox.storage.pool import Database

_RECORD_TRIES: Final = 5
_RECORD_PAUSE_S: Final = 0.2
_LENGTH: Final = re.compile(r"[0-9]{1,18}\Z", re.ASCII)  # int() refuses 4,301 digits, and `²`
_EVENT_ENDS: Final = (b"\n\n", b"\r\n\r\n", b"\r\r")  # WHATWG HTML, server-sent events

log = structlog.get_logger(__name__)


class DeliveryFault(StrEnum):
    """Why an attempt delivered nothing."""

    STATUS = "upstream_status"
    NOT_REACHED = "upstream_not_reached"
    TIMEOUT = "upstream_timeout"
    BROKEN = "upstream_response_incomplete"
    TOO_LARGE = "upstream_response_too_large"
    CREDENTIAL = "upstream_response_shows_credential"


@dataclass(frozen=True, slots=True)
class NotDelivered:
    """An attempt that delivered nothing; `payment` is the row as the attempt began."""

    payment: GatewayPayment
    fault: DeliveryFault
    state: PaymentState  # after the attempt
    status: int | None = None  # of the upstream


class BuyerLeft(Exception):
    """The buyer's connection is gone."""


class ResponseCut(Exception):
    """The upstream's response broke after a part was passed on: the connection must be cut."""


class ResponseWriter(Protocol):
    """Writes the response to the buyer; every method raises `BuyerLeft`."""

    async def start(self, status: int, headers: list[RawHeader], *, length: int | None) -> None:
        """Write status and headers; `length` None for a body of unknown length."""
        ...

    async def write(self, part: bytes, *, is_last: bool = False) -> None:
        """Write a part of the body, and wait until the connection takes more."""
        ...


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
        on; a longer one is recorded before its last byte.

        Args:
            attempt: the payment as its attempt began.
            request: the upstream request.
            writer: the buyer's connection.
            kept_bytes: the longest response that is stored.
            may_repeat: whether the upstream may get the request again after an unknown outcome.

        Raises:
            ResponseCut: a part was passed on; the attempt has ended without a delivery.
            Outage: nothing was passed on, and the end could not be recorded.
        """
        hidden = HiddenValue(request.credential)
        passing = _Passing(self, attempt, writer, hidden, kept_bytes=kept_bytes)
        try:
            async with self._relay.call(request) as response:
                if not is_delivered_status(response.status):
                    status = response.status
                    self._relay.record_failure(request.url)
                    return await self._fail(
                        attempt, DeliveryFault.STATUS, status=status, may_repeat=True
                    )
                await passing.run(response, _host_of(request.url))
        except (CallRefused, CallNotSent) as error:
            self._relay.record_failure(request.url, error)
            return await self._fail(attempt, DeliveryFault.NOT_REACHED, may_repeat=True)
        except (CallOutcomeUnknown, CredentialShown) as error:
            if passing.is_recorded:
                raise ResponseCut from error
            self._relay.record_failure(request.url)
            fault = _fault_of(error)
            failed = await self._fail(attempt, fault, may_repeat=may_repeat)
            if passing.is_started:
                raise ResponseCut from error
            return failed
        self._relay.record_success(request.url)
        return None

    async def record_delivered(
        self, attempt: GatewayPayment, status: int, response: KeptResponse | None
    ) -> None:
        """Record the delivery, with the response that is kept.

        Raises:
            Outage: it could not be recorded, though it was tried several times.
        """
        kept = None if response is None else self._keeper.seal(attempt, response)
        for left in reversed(range(_RECORD_TRIES)):
            try:
                async with self._database.connection() as db:
                    await payment_store.end_attempt(
                        db,
                        attempt,
                        PaymentState.DELIVERED,
                        status=status,
                        may_repeat=False,
                        kept=kept,
                    )
            except Outage:
                if not left:
                    raise
                await self._clock.sleep(_RECORD_PAUSE_S)
            else:
                return

    async def _fail(
        self,
        attempt: GatewayPayment,
        fault: DeliveryFault,
        *,
        may_repeat: bool,
        status: int | None = None,
    ) -> NotDelivered:
        state = state_after_failure(attempt, may_repeat=may_repeat)
        log.info("gateway.not_delivered", tx_hash=attempt.tx_hash, fault=fault, state=state)
        try:
            async with self._database.connection() as db:
                await payment_store.end_attempt(
                    db, attempt, state, status=status, may_repeat=may_repeat
                )
        except Outage:  # the attempt's time ends it
            log.warning("gateway.end_not_recorded", tx_hash=attempt.tx_hash)
        return NotDelivered(attempt, fault, state, status)


class _Passing:
    """Passes one response on: whole when it is short, in parts when it is long or a stream."""

    def __init__(
        self,
        deliverer: Deliverer,
        attempt: GatewayPayment,
        writer: ResponseWriter,
        hidden: HiddenValue,
        *,
        kept_bytes: int,
    ) -> None:
        self._deliverer, self._attempt, self._writer = deliverer, attempt, writer
        self._hidden, self._kept_bytes = hidden, kept_bytes
        self.is_started = self.is_recorded = False

    async def run(self, response: OutboundResponse, upstream_host: str) -> None:
        """Pass the response on; a buyer who leaves got a long response as far as it went."""
        headers = forward_response_headers(
            response.headers, upstream_host=upstream_host, hidden=self._hidden
        )
        is_stream = (response.header("content-type") or "").lower().startswith(EVENT_STREAM)
        parts, body = self._hidden.watch(response.chunks()), bytearray()
        if not is_stream:
            async for part in parts:
                body += part
                if len(body) > self._kept_bytes:
                    break
            else:
                await self._pass_whole(response.status, headers, bytes(body))
                return
        try:
            self.is_started = True
            await self._writer.start(response.status, headers, length=_length_of(response))
            last = bytes(body)
            body.clear()  # a slow buyer must not keep it twice
            async for part in parts:
                await self._writer.write(last)
                if is_stream and not self.is_recorded and _has_event(last + part):
                    await self._record(response.status, None)
                last = part
            await self._record(response.status, None)
            await self._writer.write(last, is_last=True)
        except BuyerLeft:
            await self._record(response.status, None)

    async def _pass_whole(self, status: int, headers: list[RawHeader], body: bytes) -> None:
        kept = KeptResponse(status, tuple(headers), body) if self._kept_bytes else None
        await self._record(status, kept)
        try:
            await self._writer.start(status, headers, length=len(body))
            await self._writer.write(body, is_last=True)
        except BuyerLeft:
            return

    async def _record(self, status: int, kept: KeptResponse | None) -> None:
        if not self.is_recorded:
            await self._deliverer.record_delivered(self._attempt, status, kept)
            self.is_recorded = True


_FAULTS: Final = {
    UnknownOutcomeReason.DEADLINE: DeliveryFault.TIMEOUT,
    UnknownOutcomeReason.TOO_LARGE: DeliveryFault.TOO_LARGE,
}


def _fault_of(error: CallOutcomeUnknown | CredentialShown) -> DeliveryFault:
    if isinstance(error, CredentialShown):
        return DeliveryFault.CREDENTIAL
    return _FAULTS.get(error.reason, DeliveryFault.BROKEN)


def _has_event(text: bytes) -> bool:
    return any(end in text for end in _EVENT_ENDS)


def _length_of(response: OutboundResponse) -> int | None:
    value = response.header("content-length")
    return int(value) if value is not None and _LENGTH.match(value) else None


def _host_of(url: str) -> str:
    target = parse_target(url)
    return target.host if isinstance(target, Target) else url
