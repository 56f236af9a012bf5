"""Pass an upstream's response on to the buyer: whole when it is short, else as it comes."""

import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from farebox.gateway.delivery.kept_response import KeptResponse
from farebox.gateway.delivery.verdict import FirstEvent, is_event_stream
from farebox.gateway.relay.hidden_value import HiddenValue
from farebox.gateway.relay.response_headers import RawHeader, forward_response_headers
from farebox.outbound.client import OutboundResponse

_LENGTH: Final = re.compile(r"[0-9]{1,18}\Z", re.ASCII)  # int() refuses 4,301 digits, and `²`


class BuyerLeft(Exception):
    """The buyer's connection is gone."""


class AttemptLost(Exception):
    """The attempt's time has passed and it was ended: it may deliver nothing any more."""


class NoEvent(Exception):
    """The stream ended without an event."""


class ResponseWriter(Protocol):
    """Writes the response to the buyer; every method raises `BuyerLeft`."""

    @property
    def limit_bytes(self) -> int | None:
        """The longest body that the buyer is shown, and only whole; None where parts are shown."""
        ...

    @property
    def has_left(self) -> bool:
        """Whether the connection is gone, as far as the server knows now."""
        ...

    def limit_time(self, within_s: float) -> None:
        """Bound the time from now until the last byte was taken."""
        ...

    def while_connected(self) -> AbstractAsyncContextManager[None]:
        """End what waits in the block once the buyer has left."""
        ...

    async def start(self, status: int, headers: list[RawHeader], *, length: int | None) -> None:
        """Write status and headers; `length` None for a body of unknown length."""
        ...

    async def write(self, part: bytes, *, is_last: bool = False) -> None:
        """Write a part of the body, and wait until the connection takes more."""
        ...

    async def wait_until_taken(self) -> None:
        """Wait until the buyer has every byte that was written, and is there to get more."""
        ...


class DeliveryRecord(Protocol):
    """The record of one attempt."""

    async def confirm(self) -> None:
        """Confirm that the attempt goes on, before the first part of a response is passed on.

        Raises:
            AttemptLost: it was ended.
        """
        ...

    def check(self) -> None:
        """Check that the time of the attempt has not passed, as of when it was confirmed.

        Raises:
            AttemptLost: it has.
        """
        ...

    async def deliver(self, status: int, response: KeptResponse | None) -> None:
        """Record the delivery, with the response that is kept.

        Raises:
            AttemptLost: the attempt was ended.
            Outage: it could not be recorded, though it was tried several times.
        """
        ...


class PassedResponse:
    """The response of one attempt, on its way to the buyer.

    `whole` is a short response that its buyer did not wait for.
    """

    def __init__(
        self, record: DeliveryRecord, writer: ResponseWriter, hidden: HiddenValue, kept_bytes: int
    ) -> None:
        self._record, self._writer = record, writer
        self._hidden, self._kept_bytes = hidden, kept_bytes
        self.is_started = self.is_recorded = False
        self.whole: KeptResponse | None = None

    async def run(self, response: OutboundResponse, upstream_host: str) -> None:
        """Pass the response on.

        Raises:
            BuyerLeft: `is_recorded` says whether it was delivered before.
            AttemptLost, CallOutcomeUnknown, CredentialShown, NoEvent: likewise.
        """
        self._hidden.check_codings(response.headers)
        headers = forward_response_headers(
            response.headers, upstream_host=upstream_host, hidden=self._hidden
        )
        parts, body = self._hidden.watch(response.chunks()), bytearray()
        events = _events_of(response)
        if events is None:
            async for part in parts:
                body += part
                if len(body) > self._kept_bytes:
                    break
            else:
                whole = KeptResponse(response.status, tuple(headers), bytes(body))
                await self._check_buyer_of(whole)
                await self.pass_whole(whole)
                return
        length = None if events is not None else _length_of(response)
        await self._record.confirm()
        self.is_started = True
        await self._writer.start(response.status, headers, length=length)
        start = bytes(body)
        body.clear()  # a slow buyer must not keep it twice
        if events is None:
            await self._pass_body(response.status, self._take(start, parts), length)
        else:
            await self._pass_events(response.status, self._take(start, parts), events)

    async def pass_whole(self, response: KeptResponse, *, is_stored: bool = False) -> None:
        """Record a response and pass it on; a buyer who leaves after that finds it stored.

        Its caller has just checked that the buyer is there.
        """
        kept = response if self._kept_bytes and not is_stored else None
        await self._deliver(response.status, kept)
        await self._writer.start(response.status, list(response.headers), length=len(response.body))
        await self._writer.write(response.body, is_last=True)

    async def _check_buyer_of(self, whole: KeptResponse) -> None:
        try:
            await check_buyer(self._writer)
        except BuyerLeft:
            self.whole = whole if self._kept_bytes else None
            raise

    async def _pass_body(
        self, status: int, parts: AsyncIterator[bytes], length: int | None
    ) -> None:
        """Pass a long body on; it is recorded before what marks its end.

        That is its last byte where its length was announced, else the end of the chunks.
        """
        left, last = length, b""
        async for part in parts:
            if left is not None:
                left -= len(part)
                if left <= 0:
                    part, last = part[:-1], part[-1:]
            await self._write(part)
        await self._end(status, last)

    async def _pass_events(
        self, status: int, parts: AsyncIterator[bytes], events: FirstEvent
    ) -> None:
        """Pass each piece of a stream on; it is delivered once its first event was written.

        A buyer who is shown whole responses alone gets no event before the stream ends.
        """
        is_shown_whole = self._writer.limit_bytes is not None
        async for part in parts:
            await self._write(part)
            events.read(part)
            if events.is_found and not is_shown_whole:
                await self._deliver(status, None)
        if not events.is_found:
            raise NoEvent
        await self._end(status, b"")

    async def _end(self, status: int, last: bytes) -> None:
        await self._deliver(status, None)
        await self._writer.write(last, is_last=True)

    async def _take(self, start: bytes, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the parts as they come; a buyer who leaves ends the wait for the next one."""
        if start:
            yield start
        while True:
            async with self._writer.while_connected():
                part = await anext(parts, None)
            if part is None:
                return
            yield part

    async def _write(self, part: bytes) -> None:
        if not self.is_recorded:
            self._record.check()
        if part:
            await self._writer.write(part)

    async def _deliver(self, status: int, kept: KeptResponse | None) -> None:
        """Record the delivery once, to a buyer who is still there and has what was passed on."""
        if self.is_recorded:
            return
        if self.is_started:
            await check_buyer(self._writer)
        await self._record.deliver(status, kept)
        self.is_recorded = True


async def check_buyer(writer: ResponseWriter) -> None:
    """Check that the buyer is there, and has what was passed on.

    Raises:
        BuyerLeft: it is not.
    """
    if writer.has_left:
        raise BuyerLeft
    await writer.wait_until_taken()


def _events_of(response: OutboundResponse) -> FirstEvent | None:
    """Return what finds the first event of a stream; None for any other response."""
    if not is_event_stream(response.status, response.header("content-type")):
        return None
    coding = response.header("content-encoding")
    return FirstEvent(is_encoded=coding is not None and coding.strip().lower() != "identity")


def _length_of(response: OutboundResponse) -> int | None:
    value = response.header("content-length")
    return int(value) if value is not None and _LENGTH.match(value) else None
