"""The refusals of a plan, of a change to one, and of its activation."""

from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal


class NetworkUnavailable(Refusal):
    """The network cannot be read now; the same request makes sense again later."""

    retry_after_s = 5

    def __init__(self) -> None:
        super().__init__(ErrorCode.NETWORK_UNAVAILABLE)


class AutomationUnavailable(Refusal):
    """The network has no paymaster here, or one that cannot pay now.

    An operator may set up or fund one at any time: `retry_after_s` None is the default of a 503.
    """

    def __init__(self, why: str | None = None, *, retry_after_s: int | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(ErrorCode.AUTOMATION_UNAVAILABLE, why)


class AutomationRefused(Refusal):
    """A rule of automation refuses the request.

    `field` is the member of the body that the rule looked at, in its JSON spelling
    (`schedule.everySeconds`); empty where the rule looked at no single member.
    """

    def __init__(self, code: ErrorCode, why: str, *, field: str = "") -> None:
        super().__init__(code, f"Look at {field}. {why}" if field else why, field=field)
        self.why = why


def spec_mismatch(field: str, why: str) -> AutomationRefused:
    """The refusal of a member that does not fit the plan, its contract or its session."""
    return AutomationRefused(ErrorCode.SPEC_MISMATCH, why, field=field)


def limit_exceeded(field: str, why: str) -> AutomationRefused:
    """The refusal of a number that is above a limit of plans."""
    return AutomationRefused(ErrorCode.LIMIT_EXCEEDED, why, field=field)
