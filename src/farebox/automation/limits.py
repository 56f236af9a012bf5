"""The hard limits of plans, which `/v1/automations/limits` shows (3.3 of the design)."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

SHORTEST_INTERVAL_S: Final = 60  # of a schedule
SHORTEST_POLL_S: Final = 30  # of a condition


@dataclass(frozen=True, slots=True)
class AutomationLimits:
    """The numbers in force; the horizon stays inside the 180 days that an authorization can live.

    A `call` is a contract and a function that a session may call. `receivers` are those of one
    disbursement: in a session (one list of the guard), and in a batch target or a mandate.
    """

    open_plans_per_owner: int = 20  # those that are in no terminal state
    runs: int = 1_000
    horizon: timedelta = timedelta(days=170)
    calls_per_session: int = 8
    receivers_per_session: int = 32
    receivers_per_batch: int = 100
    presigned_entries: int = 12


LIMITS: Final = AutomationLimits()
