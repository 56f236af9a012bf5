"""Why the paymaster does not send a call now, for a reason that is no fault of the call's."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final


class SponsorObstacle(StrEnum):
    """The reason; nothing was sent, and the same call makes sense again later."""

    STOPPED = "automation_stopped"  # by the operator
    NO_CHANNEL = "no_channel"  # all are in use
    CHANNEL_MISSING = "channel_missing"  # on the ledger
    FEE_CEILING = "fee_ceiling"  # the operator's, of one transaction
    BUDGET_TOTAL = "budget_total"  # of a UTC day, as the next one
    BUDGET_OWNER = "budget_owner"
    NOT_SIMULATED = "not_simulated"  # the node gave no usable answer, or an entry is archived
    TOO_SLOW = "too_slow"  # its row was taken for that of a lost process
    NOT_SENT = "not_sent"  # a node refused the envelope, or none took it


_SOON: Final = timedelta(seconds=5)
_OF_A_DAY: Final = frozenset((SponsorObstacle.BUDGET_TOTAL, SponsorObstacle.BUDGET_OWNER))


def wait_for(obstacle: SponsorObstacle, now: datetime) -> timedelta:
    """How long a caller waits before it asks again: a budget of a day is full until the next one.

    `now` is in UTC.
    """
    if obstacle not in _OF_A_DAY:
        return _SOON
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return max(_SOON, midnight - now)
