"""Builds of the service that must fail the proof of limits."""

from enum import StrEnum
from pathlib import Path
from typing import Final

from prove.broken_build import sources_with_ends
from prove.delivery_control import TIMES, UNJUDGED
from prove.limits_case import LimitsCase, LimitsOutcome

_MODULE: Final = "gateway/delivery/reservation_store.py"
_START: Final = "async def reserve("
_PAY: Final = "gateway/delivery/pay.py"
_UNLIMITED: Final = """

_RESERVE = (
    _RESERVE.replace("c.minute_count < $6", "$6 > 0")
    .replace("c.month_count < $7", "$7 > 0")
    .replace("c.in_progress < $8", "$8 > 0")
)
"""
_UNCOUNTED: Final = """


async def release(db, held):
    await db.execute(
        f"DELETE FROM gateway_payments WHERE {KEY} AND state = 'reserved' AND attempts = $4",
        *held.identity.row_key,
        held.attempts,
    )
    return True
"""


class Control(StrEnum):
    """The defect of a build."""

    UNLIMITED = "it counts and refuses nothing"
    UNCOUNTED = "a released reservation stays counted"

    @property
    def case(self) -> LimitsCase:
        """The case that shows the defect."""
        return LimitsCase(0, 2, 3, 3, 3, killed_at=None, refused=6)

    def shows_in(self, outcome: LimitsOutcome) -> bool:
        """Whether the outcome shows the defect."""
        is_beyond = outcome.landed_beyond > 0
        return is_beyond if self is Control.UNLIMITED else bool(outcome.counters_off)


def broken_sources(folder: Path, control: Control) -> Path:
    """Write a copy of the sources with short leases and one defect.

    Raises:
        RunFailed: the sources lack the text that is replaced.
    """
    ends = {**TIMES, _MODULE: (_START, _UNLIMITED)}
    if control is Control.UNCOUNTED:  # a refused payment that is judged first reserves nothing
        start, known = TIMES[_PAY]
        ends |= {_MODULE: (_START, _UNCOUNTED), _PAY: (start, known + UNJUDGED)}
    return sources_with_ends(folder, ends)
