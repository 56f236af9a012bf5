"""The end of a connection: its last response, and the time its caller has to take it."""

from contextlib import suppress
from typing import Final

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from farebox.web.connections import PIECE_BYTES, HoldableFlow, OpenConnections
from farebox.web.error_responses import EarlyResponse
from farebox.web.half_closed import HalfClosableCycle
from farebox.web.request_context import new_request_id
from farebox.web.written_bytes import count_untaken

HEAD_BYTES: Final = 32 * 1024
DISCARD_BYTES: Final = 4 * 1024 * 1024  # read behind the last response
log = structlog.get_logger()


class LastResponseProtocol(HttpToolsProtocol):
    """A connection that is read from for some time behind its last response.

    A close with unread bytes would take the response back (RFC 9112, section 9.6).
    """

    open: OpenConnections
    flow: HoldableFlow
    _has_served = False
    _is_ended = False  # bytes that come are discarded
    _has_eof = False  # none will come
    _discarded = 0
    _backlog = b""  # bytes behind the request being answered, after `_consumed` ones
    _untaken = 0  # bytes of responses, when a wait for the caller to read began
    _reads_until: float | None = None  # the last response is sent: the loop's clock

    @property
    def is_busy(self) -> bool:
        """Whether a handler works on one of its requests."""
        cycle = self.cycle
        return self._is_answering and not (
            isinstance(cycle, HalfClosableCycle) and cycle.is_rendered
        )

    @property
    def has_served(self) -> bool:
        """Whether it ever carried a request."""
        return self._has_served

    @property
    def _is_answering(self) -> bool:
        return self._has_served and not self.cycle.response_complete

    def _send_last(self, response: EarlyResponse) -> None:
        """Send the response, and close the connection once the caller had time to read it."""
        request_id = new_request_id()
        peer = self.client[0] if self.client else None
        log.info("request.unread", code=response.code, request_id=request_id, client=peer)
        self._write(response, request_id)
        self._end_sending()

    def _keeps_open(self) -> bool:
        """Whether a connection stays open for reading when it is closed.

        It does behind a response to a request whose body is still coming.
        """
        is_early = self._has_served and self.cycle.response_complete and self.cycle.more_body
        if not is_early or self._has_eof or self.transport.is_closing():
            self.open.limit_writing(self, self.loop)
            return False
        if self._reads_until is None:
            self._end_sending()
        return True

    def _end_sending(self) -> None:
        """End the sending side, and discard what the caller still sends before the close."""
        self._is_ended = True
        self._reads_until = self.loop.time() + self.open.limits.last_s
        if not self.transport.is_closing():
            if self.transport.can_write_eof():
                self.transport.write_eof()
            self.flow.release()
        if not self.flow.write_paused:
            self._limit_reading()

    def _limit_reading(self) -> None:
        """Close the connection some time after the last bytes that were discarded."""
        left_s = (self._reads_until or 0.0) - self.loop.time()
        self.open.set_timeout(self, min(self.open.limits.close_s, left_s), self.loop)

    def _reject(self, response: EarlyResponse) -> None:
        self._is_ended = True
        self._write(response, new_request_id())
        self.transport.close()

    def _write(self, response: EarlyResponse, request_id: str) -> None:
        self.transport.write(response.to_bytes(request_id, self.server_state.default_headers))

    def _discard(self, count: int) -> None:
        """Count discarded bytes, and stop reading from a caller that sends on and on."""
        self._discarded += count
        if self._discarded > (HEAD_BYTES if self._reads_until is None else DISCARD_BYTES):
            self.flow.hold()
        elif self._reads_until is not None and not self.flow.write_paused:
            self._limit_reading()

    def pause_writing(self) -> None:
        """Give a caller that does not read some seconds to do so."""
        super().pause_writing()
        with suppress(ConnectionResetError):
            self._untaken = count_untaken(self.transport)
        self.open.limit_writing(self, self.loop)

    def _has_taken_piece(self) -> bool:
        """Whether the caller took a piece since the last look, be it from the kernel alone."""
        before = self._untaken
        try:
            self._untaken = count_untaken(self.transport)
        except ConnectionResetError:
            return False
        return self._untaken + PIECE_BYTES <= before

    def time_out(self) -> None:
        """Close the connection, or give a caller that took a piece of its response more time."""
        if self.transport.get_write_buffer_size() and self._has_taken_piece():
            self.open.limit_writing(self, self.loop)
        elif self._is_ended or self.flow.write_paused or self.transport.is_closing():
            self.transport.abort()
        else:
            self._is_ended = True
            self.transport.close()
            self.open.set_timeout(self, self.open.limits.close_s, self.loop)

    def shed(self) -> None:
        """Give up the backlog: close at once, or after the response under way."""
        self._is_ended = True
        self._backlog = b""
        if self.is_busy:
            self.cycle.keep_alive = False
        else:
            self.transport.abort()
