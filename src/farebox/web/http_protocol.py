"""HTTP/1.1 for hostile callers: uvicorn's protocol with limits on all it reads and buffers.

The parser buffers a head until it is whole, however large, and copies the parts of a field or URL
again with each one that comes; it parses the bytes that follow a request while that one is still
being answered. So the parser is never given more bytes at once than a head may have, and the bytes
that follow a request wait unparsed, while nothing more is read.
"""

import asyncio
from typing import Final

import httptools

from farebox.kernel.error_codes import ErrorCode
from farebox.web.connections import (
    AllowedHosts,
    HeadBuffer,
    HoldableFlow,
    OpenConnections,
    is_host,
    read_target_host,
    with_path,
    without_port,
)
from farebox.web.error_responses import EarlyResponse
from farebox.web.half_closed import CUT, HalfClosableCycle
from farebox.web.last_response import HEAD_BYTES, LastResponseProtocol
from farebox.web.written_bytes import UNTIL_TAKEN

URL_BYTES: Final = 8 * 1024
FIELDS: Final = 100
PIPELINED_REQUESTS: Final = 8  # sent before the responses of earlier ones; then the connection ends
_HEAD_END: Final = b"\r\n\r\n"
_HEAD_TOO_SLOW: Final = EarlyResponse(ErrorCode.REQUEST_TIMEOUT, "The head did not arrive in time.")
_ALL_TAKEN: Final = EarlyResponse(ErrorCode.SERVICE_UNAVAILABLE, "All connections are taken.")
_CODING: Final = "The server knows no transfer coding but chunked."
_OTHER_HOST: Final = "The request's target names another host than its Host header."
_WRITE_BYTES: Final = 16 * 1024  # of a response that wait for a slow reader
_BEFORE_1_1: Final = ("0.9", "1.0")


class _ParserStopped(Exception):
    """Leaves the parser's callbacks; the protocol holds the response."""


class BoundedHttpProtocol(LastResponseProtocol):
    """One connection. A subclass names the open connections and the allowed hosts."""

    hosts: AllowedHosts | None = None  # None: every name

    # Connection

    def connection_made(  # type: ignore[override]  # as in the class it extends
        self, transport: asyncio.Transport
    ) -> None:
        """Serve the connection, or refuse it when there is no room."""
        buffer = HeadBuffer(transport, self.loop, self._keeps_open)
        super().connection_made(buffer)
        self.flow = HoldableFlow(self.transport)
        transport.set_write_buffer_limits(high=_WRITE_BYTES)
        self._unparsed = 0  # bytes the parser has taken and not reported yet
        self._is_in_head = False
        self._has_head_timeout = False  # the timeout of a head that has begun is set
        self._consumed = 0
        self._pipelined = 0  # requests parsed from there since it was last empty
        self._last: EarlyResponse | None = None  # the last response, once the parser has stopped
        peer = self.client[0] if self.client else ""
        if not self.open.has_room_for(peer):
            self._reject(EarlyResponse(ErrorCode.TOO_MANY_CONNECTIONS))
        elif not self.open.make_room():
            self._reject(_ALL_TAKEN)
        else:
            self.open.add(self, peer)
            self.open.set_timeout(self, self.open.limits.head_s, self.loop)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._is_ended = True
        self._backlog = b""
        self.open.remove(self)
        super().connection_lost(exc)

    # Bytes that arrive

    def data_received(self, data: bytes) -> None:
        """Parse the bytes, or put them into the backlog."""
        if self._is_ended:
            self._discard(len(data))
            return
        is_plain = not self._unparsed and not self._backlog and len(data) <= HEAD_BYTES
        # two searches that end soon, or look for one byte: nearly always this is one whole request
        is_plain = is_plain and data.find(b"\n", data.find(_HEAD_END) + len(_HEAD_END)) < 0
        if is_plain and not self._is_full:
            self._parse(data)
        else:
            self._backlog, self._consumed = self._backlog[self._consumed :] + data, 0
            self._parse_backlog()
        if self._is_in_head or self._unparsed or self._backlog or self.flow.is_held:
            self._account_for_rest()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio reads the result
        """Keep the connection open while whole requests of a half-closed one are answered.

        TLS has no such state.
        """
        if self._has_eof:
            return True
        if not self._is_full or self.scheme == "https":
            return False
        self._has_eof = True
        if self.cycle.more_body:
            self.pipeline.popleft()  # cut short; the earlier ones are whole
        for cycle in (self.cycle, *(each for each, _ in self.pipeline)):
            if isinstance(cycle, HalfClosableCycle):
                cycle.end()
        return True

    @property
    def _is_full(self) -> bool:
        """Whether a whole request is not answered yet, so that new bytes belong to the next one."""
        if not self._has_served or self.cycle.response_complete:
            return False
        return not self.cycle.more_body or bool(self.pipeline)

    def _parse_backlog(self) -> None:
        """Parse the backlog a head at a time, until a whole request is being answered.

        Where the bytes are divided makes no difference to the parser.
        """
        data, at = self._backlog, self._consumed
        while at < len(data) and not self._is_full and not self._is_ended:
            end = data.find(_HEAD_END, at, at + HEAD_BYTES)
            stop = end + len(_HEAD_END) if end >= 0 else at + HEAD_BYTES
            self._parse(data[at:stop])
            at = stop
        is_done = at >= len(data) or self._is_ended
        if is_done:
            self._pipelined = 0
        self._backlog, self._consumed = (b"", 0) if is_done else (data, at)

    def _parse(self, data: bytes) -> None:
        self._unparsed += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # the bytes that follow look like a body: the response to this request is the last
            self.cycle.keep_alive = False
            self._is_ended = True
        except httptools.HttpParserError:
            self._refuse(self._last or EarlyResponse(ErrorCode.MALFORMED_HTTP))
        else:
            if self._unparsed > HEAD_BYTES:
                self._refuse(EarlyResponse(ErrorCode.HEAD_TOO_LARGE))

    def _account_for_rest(self) -> None:
        """Count the bytes that belong to no request yet, and set the timeout of a head."""
        if self._is_ended:
            self._backlog = b""
            self.open.set_unparsed(self, 0)
            return
        self.open.set_unparsed(self, self._unparsed + len(self._backlog))
        if self._backlog and not self.flow.is_held:
            self.flow.hold()
        elif not self._backlog and self.flow.is_held:
            self.flow.release()
        if not self._backlog and not self._has_head_timeout and not self._is_answering:
            self._has_head_timeout = True
            self.open.set_timeout(self, self.open.limits.head_s, self.loop)

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        """Begin a head."""
        super().on_message_begin()
        self.scope["extensions"] = {UNTIL_TAKEN: {}, CUT: {}}
        self._host: bytes | None = None

    def on_url(self, url: bytes) -> None:
        """Take a part of the URL."""
        self._is_in_head = True
        self.url += url
        if len(self.url) > URL_BYTES:
            self._stop(ErrorCode.URL_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header field; one behind the body is ignored."""
        if not self._is_in_head:
            return
        name = name.lower()
        if name == b"host":
            if self._host is not None or not is_host(value):
                self._stop(ErrorCode.MALFORMED_HTTP)
            self._host = value
            if self.hosts is not None and value not in self.hosts:
                self._stop(ErrorCode.HOST_NOT_ALLOWED)
        elif name == b"transfer-encoding" and value.strip().lower() != b"chunked":
            self._stop(ErrorCode.MALFORMED_HTTP, _CODING)  # RFC 9112, section 6.1
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))
        if len(self.headers) > FIELDS:  # at once: a part of a head may have thousands
            self._stop(ErrorCode.HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """Begin a request."""
        if self._unparsed > HEAD_BYTES:
            self._stop(ErrorCode.HEAD_TOO_LARGE)
        is_old = self.parser.get_http_version() in _BEFORE_1_1
        self._check_host(is_required=not is_old)
        if is_old:
            self.expect_100_continue = False  # RFC 9110, section 10.1.1
        self._unparsed = 0
        self._is_in_head = self._has_head_timeout = False
        if not self.flow.write_paused:
            self.open.clear_timeout(self)
        super().on_headers_complete()
        self.cycle.__class__ = HalfClosableCycle  # before its task runs
        self._has_served = True
        if self._backlog:
            self._pipelined += 1

    def _check_host(self, *, is_required: bool) -> None:
        """Refuse a request without a host, or with another one in its target.

        RFC 9112, section 3.2, has the Host header ignored where the target has a host: a cache or
        a proxy on the way may have read the other one.
        """
        if self._host is None and is_required:
            self._stop(ErrorCode.MALFORMED_HTTP)
        named = None if self.url.startswith(b"/") else read_target_host(self.url)
        if named is None:
            return
        self.url = with_path(self.url)
        if self._host is None:
            is_ours = self.hosts is None or named in self.hosts
        else:
            is_ours = without_port(named) == without_port(self._host)
        if not is_ours:
            self._stop(ErrorCode.HOST_NOT_ALLOWED, _OTHER_HOST)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._unparsed = 0
        if self.cycle.response_complete:
            self.cycle.more_body = False
            self.open.set_timeout(self, self.open.limits.idle_s, self.loop)
        else:
            super().on_message_complete()
            if self._pipelined >= PIPELINED_REQUESTS:
                # a caller repeats the requests that were not answered when the connection ended
                self.cycle.keep_alive = False
                self._is_ended = True

    def _stop(self, code: ErrorCode, message: str = "") -> None:
        self._last = EarlyResponse(code, message)
        raise _ParserStopped

    # Responses

    def on_response_complete(self) -> None:
        """Answer the next request of the connection, or wait for it."""
        self.server_state.total_requests += 1
        limits = self.open.limits
        if self.transport.is_closing() or self._reads_until is not None:
            return
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        elif self._last is not None:
            self._send_last(self._last)
            return
        else:
            seconds = limits.rest_s if self.cycle.more_body else limits.idle_s
            if self.flow.write_paused:
                seconds = limits.write_s
            elif self._is_in_head or self._unparsed:
                seconds = limits.head_s
            self.open.set_timeout(self, seconds, self.loop)
        self.flow.resume_reading()
        if self.flow.is_held:
            self._parse_backlog()
            self._account_for_rest()
        if self._has_eof and not self._is_full:
            self.transport.close()

    def _refuse(self, response: EarlyResponse) -> None:
        """Send the last response behind the ones that are due; a request cut short has none."""
        self._is_ended = True
        self._last = response
        self.headers, self.url = [], b""  # the connection may stay for some seconds
        cycle = self.cycle
        if not self._is_answering:
            self._send_last(response)
        elif self.pipeline and cycle.more_body:
            self.pipeline.popleft()  # the newest: it was cut short before its turn
        elif cycle.more_body:
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                self.transport.close()
            else:
                self._send_last(response)

    # Timeouts

    def time_out(self) -> None:
        """Respond with 408 to an incomplete head, or close the connection."""
        is_over = self._is_ended or self.flow.write_paused or self.transport.is_closing()
        if self._is_in_head and not is_over:
            self._refuse(_HEAD_TOO_SLOW)
        else:
            super().time_out()

    def resume_writing(self) -> None:
        """Restore the timeout of a caller that reads again."""
        super().resume_writing()
        if self._is_answering and not self.transport.is_closing():
            self.open.clear_timeout(self)
        elif not (self._is_ended or self.transport.is_closing()):
            self.open.set_timeout(self, self.open.limits.idle_s, self.loop)


def bounded_protocol(
    connections: OpenConnections, allowed_hosts: AllowedHosts | None
) -> type[BoundedHttpProtocol]:
    """Make the protocol of a server with these connections and allowed hosts; None: every name."""

    class OfServer(BoundedHttpProtocol):
        open = connections
        hosts = allowed_hosts

    return OfServer
