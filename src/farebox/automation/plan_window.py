"""The time in which a plan may run."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class PlanWindow:
    """The first and the last moment in which a run may land, both included (UTC)."""

    not_before: datetime
    not_after: datetime

    def has(self, moment: datetime) -> bool:
        """Whether the moment is in the window."""
        return self.not_before <= moment <= self.not_after
