"""The three errors of a call without a response: refused, not sent, outcome unknown."""

from enum import StrEnum
from typing import Final

from farebox.kernel.errors import CommandRefused, Outage
from farebox.outbound.target import TargetFault

PART = "upstream"


class CallRefusalReason(StrEnum):
    """Why a call is refused although its URL is allowed."""

    ADDRESS = "address_not_public"
    OWN_HOST = "address_is_this_service"
    METHOD = "method_not_allowed"
    HEADER = "header_not_allowed"


class NotSentReason(StrEnum):
    """Why the server certainly received no request."""

    BUSY = "too_many_calls"
    DEADLINE = "not_connected_in_time"
    NAME = "name_not_found"
    CONNECTION = "not_connected"
    CERTIFICATE = "certificate_refused"
    TLS = "tls_failed"
    PEER = "connected_elsewhere"
    CLOSED = "client_closed"


class UnknownOutcomeReason(StrEnum):
    """Why the server may have acted although there is no complete response."""

    DEADLINE = "no_answer_in_time"
    DROPPED = "connection_dropped"
    MALFORMED = "answer_malformed"
    TOO_LARGE = "answer_too_large"


_OWN_CONGESTION: Final = frozenset({NotSentReason.BUSY, NotSentReason.CLOSED})


class CallRefused(CommandRefused):
    """The call is not allowed; nothing was sent."""

    def __init__(self, reason: TargetFault | CallRefusalReason) -> None:
        super().__init__(f"This address is not called: {reason.value}.")
        self.reason = reason


class CallNotSent(Outage):
    """The request was certainly not sent: the call may be retried."""

    def __init__(self, reason: NotSentReason) -> None:
        super().__init__(PART, f"The call was not sent: {reason.value}.")
        self.reason = reason

    @property
    def is_own_congestion(self) -> bool:
        """Whether this service had no room for the call, which says nothing about the server."""
        return self.reason in _OWN_CONGESTION


class CallOutcomeUnknown(Outage):
    """The request may have been received and acted on: it is never retried automatically."""

    def __init__(self, reason: UnknownOutcomeReason) -> None:
        super().__init__(PART, f"The call has no complete response: {reason.value}.")
        self.reason = reason
