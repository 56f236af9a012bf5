"""A request to a wrapper as its owner's analytics show it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

MAX_PATH: Final = 200  # characters kept of a path


class RequestOutcome(StrEnum):
    """The outcome of a request to a wrapper."""

    CHALLENGED = "CHALLENGED"  # it got the offer
    REFUSED = "REFUSED"  # it could not be served, whatever it paid
    RATE_LIMITED = "RATE_LIMITED"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    VERIFY_FAILED = "VERIFY_FAILED"  # its payment was refused; nothing was sent
    SETTLE_FAILED = "SETTLE_FAILED"  # its payment failed on the ledger, or can no longer land
    SETTLE_PENDING = "SETTLE_PENDING"
    UPSTREAM_SUCCESS = "UPSTREAM_SUCCESS"  # delivered
    REPLAYED = "REPLAYED"  # delivered before
    UPSTREAM_ERROR = "UPSTREAM_ERROR"  # paid and not delivered
    BROKEN_OFF = "BROKEN_OFF"  # the connection ended within the response
    GATEWAY_ERROR = "GATEWAY_ERROR"


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request; it holds no header, no body and no query."""

    wrapper_id: str
    at: datetime
    request_id: str
    method: str
    path: str
    status: int
    outcome: RequestOutcome
    duration_ms: int
    request_bytes: int = 0
    response_bytes: int = 0
    error_code: str | None = None
    tx_hash: str = ""
