"""The three things that can be known when a call brings no answer."""

from enum import StrEnum

from farebox.kernel.errors import Outage, Refusal
from farebox.outbound.target import TargetFault

PART = "upstream"


class Forbidden(StrEnum):
    """Why a call is refused although its URL may be called."""

    ADDRESS = "address_not_public"
    METHOD = "method_not_allowed"
    HEADER = "header_not_allowed"


class Unsent(StrEnum):
    """Why the other side certainly saw no request."""

    BUSY = "too_many_calls"
    DEADLINE = "not_connected_in_time"
    NAME = "name_not_found"
    CONNECTION = "not_connected"
    CERTIFICATE = "certificate_refused"
    TLS = "tls_failed"
    PEER = "connected_elsewhere"
    CLOSED = "client_closed"


class Unclear(StrEnum):
    """Why the other side may have acted although there is no whole answer."""

    DEADLINE = "no_answer_in_time"
    DROPPED = "connection_dropped"
    MALFORMED = "answer_malformed"
    TOO_LARGE = "answer_too_large"


class CallRefused(Refusal):
    """Nothing was sent and nothing will be: the call is not allowed."""

    def __init__(self, reason: TargetFault | Forbidden) -> None:
        super().__init__(reason.value, f"This address is not called: {reason.value}.")
        self.reason = reason


class NotSent(Outage):
    """Nothing was sent this time: the call may be tried again."""

    def __init__(self, reason: Unsent) -> None:
        super().__init__(PART, f"The call was not sent: {reason.value}.")
        self.reason = reason


class AnswerUnknown(Outage):
    """The request may have been received and acted on: it is never sent again by itself."""

    def __init__(self, reason: Unclear) -> None:
        super().__init__(PART, f"The call has no whole answer: {reason.value}.")
        self.reason = reason
