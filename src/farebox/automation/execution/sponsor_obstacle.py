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
    PLAN_LIMIT = "plan_installations"  # of a UTC day, as the next one
    OWNER_LIMIT = "owner_installations"
    NOT_PREPAID = "setup_price"  # it costs more than the plan was charged for it
    LOSS_OWNER = "loss_owner"  # what failed runs may lose is used up, of the owner
    LOSS_NEW = "loss_new_owners"  # of all owners together of whom hardly a run has succeeded
    NOT_SENT = "not_sent"  # a node refused the envelope, or none took it


# An installation is free where runs have no price, and costs far more than a run: without these
# limits an owner could spend its whole budget of a day on installations, and ten owners the
# paymaster's. One installs a plan once; the others are for a signature that came too late.
MOST_INSTALLS_OF_PLAN: Final = 3  # that the paymaster sends in a UTC day
MOST_INSTALLS_OF_OWNER: Final = 10
LIMITED: Final = frozenset((SponsorObstacle.PLAN_LIMIT, SponsorObstacle.OWNER_LIMIT))
_SOON: Final = timedelta(seconds=5)
_OF_A_DAY: Final = LIMITED | {
    SponsorObstacle.BUDGET_TOTAL,
    SponsorObstacle.BUDGET_OWNER,
    SponsorObstacle.LOSS_OWNER,
    SponsorObstacle.LOSS_NEW,
}


def judge_installs(*, of_plan: int, of_owner: int) -> SponsorObstacle | None:
    """Which limit the installations of today are above, the one to be sent included."""
    if of_plan > MOST_INSTALLS_OF_PLAN:
        return SponsorObstacle.PLAN_LIMIT
    return SponsorObstacle.OWNER_LIMIT if of_owner > MOST_INSTALLS_OF_OWNER else None


def wait_for(obstacle: SponsorObstacle, now: datetime) -> timedelta:
    """How long a caller waits before it asks again: a limit of a day holds until the next one.

    `now` is in UTC.
    """
    if obstacle not in _OF_A_DAY:
        return _SOON
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return max(_SOON, midnight - now)
