"""The two families of exceptions that may leave a feature: refusals and outages."""


class Refusal(Exception):
    """The caller may not: says why with a code and words that are safe to show."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class NotFound(Refusal):
    """There is no such record, or it is somebody else's: which of the two is not told."""

    def __init__(self) -> None:
        super().__init__("not_found", "There is nothing at this path.")


class TooManyRequests(Refusal):
    """Whoever asks has asked too often; after `retry_after_s` seconds, at least 1, it may again."""

    def __init__(self, message: str = "Too many requests.", *, retry_after_s: int) -> None:
        super().__init__("too_many_requests", message)
        self.retry_after_s = retry_after_s


class Outage(Exception):
    """Something Farebox needs is away: names the part, never its address."""

    def __init__(self, part: str, message: str) -> None:
        super().__init__(message)
        self.part = part
        self.message = message
