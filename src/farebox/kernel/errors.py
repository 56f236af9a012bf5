"""The two families of exceptions that may leave a feature: refusals and outages."""

from typing import Final

import msgspec

from farebox.kernel.error_codes import ErrorCode

_UNAVAILABLE_S: Final = 60  # seconds after which an operator may have closed a gap
_SERVICE_UNAVAILABLE: Final = 503


class ErrorMember(msgspec.Struct, frozen=True):
    """The member of the request's body that an error is about, as in `spec.args[0].value`."""

    field: str


class Refusal(Exception):
    """The request is refused: a code, and a message that is safe to show.

    `retry_after_s` is set where the same request may be repeated after that many seconds: of every
    503, with a minute where nothing else is known. `field` is set where the refusal is about one
    member of the body: its path in the JSON, as in `accepts[0].amount`.
    """

    retry_after_s: int | None = None

    def __init__(self, code: ErrorCode, message: str | None = None, *, field: str = "") -> None:
        """Without `message` the sentence is the code's own."""
        self.code, self.field = code, field
        self.message = code.sentence if message is None else message
        if self.retry_after_s is None and code.status == _SERVICE_UNAVAILABLE:
            self.retry_after_s = _UNAVAILABLE_S
        super().__init__(self.message)


class CommandRefused(Refusal):
    """A command, a start or a call of ours is refused: no request is answered with it."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INTERNAL_ERROR, message)


class NotFound(Refusal):
    """There is no such record, or it has another owner: which of the two is not disclosed."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.NOT_FOUND)


class TooManyRequests(Refusal):
    """The caller is over a rate limit; it may retry after `retry_after_s` seconds, at least 1."""

    retry_after_s: int

    def __init__(self, message: str | None = None, *, retry_after_s: int) -> None:
        super().__init__(ErrorCode.TOO_MANY_REQUESTS, message)
        self.retry_after_s = retry_after_s


class Outage(Exception):
    """A dependency is unavailable; `part` is its name, never its address."""

    repeat_after_s: int = 5  # seconds after which a retry makes sense

    def __init__(self, part: str, message: str) -> None:
        super().__init__(message)
        self.part = part
        self.message = message
