"""What counts as delivered: the statuses of upstreams, and the first event of a stream."""

import re
from typing import Final

from farebox.gateway.payment import MAX_ATTEMPTS, GatewayPayment, PaymentState

_EVENT_STREAM: Final = "text/event-stream"
_NOT_DELIVERED: Final = frozenset({401, 402, 407, 408, 429})
_LEAST: Final = 200
_LAST: Final = 499
_NO_CONTENT: Final = 204
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_BOM: Final = b"\xef\xbb\xbf"
_DATA: Final = b"data"
_LINE_START: Final = len(_BOM) + len(_DATA) + 1  # bytes that tell a data line from all others


def is_delivered_status(status: int) -> bool:
    """Whether a complete response with this status is what the buyer paid for.

    Statuses of the gateway's own credential, of payment and of limits, redirects and failures of
    the upstream are not; neither is one that HTTP does not have.
    """
    return _LEAST <= status <= _LAST and status // 100 != 3 and status not in _NOT_DELIVERED


def state_after_failure(attempt: GatewayPayment, *, may_repeat: bool) -> PaymentState:
    """Return the state after an attempt that delivered nothing."""
    is_last = attempt.attempts >= MAX_ATTEMPTS or not may_repeat
    return PaymentState.OWED if is_last else PaymentState.PAID


def is_event_stream(status: int, content_type: str | None) -> bool:
    """Whether a response is a stream of events, each of which its buyer waits for."""
    media = (content_type or "").partition(";")[0].strip().lower()
    return media == _EVENT_STREAM and status // 100 == 2 and status != _NO_CONTENT


class FirstEvent:
    """Finds the first event of a stream in its pieces (WHATWG HTML, section 9.2.6).

    An event is dispatched by the blank line behind a line with data. Comments, ids, names, retry
    times and blank lines by themselves dispatch none.

    Args:
        is_encoded: the stream has a content coding, so that its events cannot be read. Its first
            byte counts as an event.
    """

    def __init__(self, *, is_encoded: bool = False) -> None:
        self.is_found = False
        self._is_encoded = is_encoded
        self._line = b""  # the start of the line that has not ended
        self._is_first_line = True
        self._has_data = self._is_after_return = False

    def read(self, piece: bytes) -> None:
        """Read the next piece."""
        if self.is_found or not piece:
            return
        if self._is_encoded:
            self.is_found = True
            return
        if self._is_after_return and piece.startswith(b"\n"):
            piece = piece[1:]  # the second half of the end of the last line
        self._is_after_return = piece.endswith(b"\r")
        *lines, rest = _LINE_END.split(self._line + piece)
        for line in lines:
            self._end_line(line)
        self._line = rest[:_LINE_START]

    def _end_line(self, line: bytes) -> None:
        if self._is_first_line:
            line, self._is_first_line = line.removeprefix(_BOM), False
        if not line:
            self.is_found = self.is_found or self._has_data
            self._has_data = False
        elif line.partition(b":")[0] == _DATA:
            self._has_data = True
