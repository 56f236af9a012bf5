"""The two families of exceptions that may leave a feature: refusals and outages."""


class Refusal(Exception):
    """The caller may not: says why with a code and words that are safe to show."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Outage(Exception):
    """Something Farebox needs is away: names the part, never its address."""

    def __init__(self, part: str, message: str) -> None:
        super().__init__(message)
        self.part = part
        self.message = message
