"""Builds of the service that must fail the owners' cases: each has one rule of prices less."""

from enum import StrEnum
from pathlib import Path
from typing import Final

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import PlanKind
from prove.broken_build import sources_with_ends
from prove.owner_case import HostileCase, OwnerCase, OwnerOutcome
from prove.owner_hostile import HostileAct
from prove.owner_plans import End, LifeCase, Start
from prove.owner_stage import TIMED
from prove.owner_verdict import OwnerViolation

_DUE_TIMES: Final = 2  # of the control of an act
# a cheap run's credit pays for a dear one, as where credit is counted in runs
_RETURNED_DEAR: Final = """

async def _return_more(db, terms, asset, amount, *, own=return_credit):
    await own(db, terms, asset, BaseUnits(30 * amount))


return_credit = _return_more
"""
_NO_SETUP: Final = """

def _price_nothing(prices, install):
    return NO_UNITS


price_setup = _price_nothing
"""
_NO_LIMIT: Final = """

def _limit_nothing(run, plan):
    return None


paid_limit = _limit_nothing
"""
_UNLOCKED: Final = """

async def lock_due_run(db, proposal_id):
    found = await db.fetchval(
        "SELECT state IN ('claimed', 'checking', 'building', 'submitted', 'reconciling')"
        " FROM automation_runs WHERE proposal_id = $1 AND due_at IS NOT NULL", proposal_id)
    return found is True
"""
_AS_OF_NOW: Final = "\n\nONLY_TOO_EARLY = frozenset()\n"


class OwnerControl(StrEnum):
    """The defect of a build."""

    CREDIT = "credit comes back at another price than that it was paid at"
    SETUP = "an installation is not charged"
    CEILING = "a run may cost more than it was quoted at"
    CLAIMED = "a leg can be claimed in the middle of a change of its plan"
    DRY_RUN = "the dry run is made as of now, and not of the plan's start"

    @property
    def case(self) -> OwnerCase:
        """The case that shows the defect."""
        if self is OwnerControl.DRY_RUN:
            pair = (PlanKind.CONTRACT_CALL, AuthorityMode.MANDATE)
            return LifeCase(-1, 1, Start.FUTURE, End.LATER, (pair,))
        return HostileCase(-1, 1, (_ACTS[self],), due_times=_DUE_TIMES)

    def shows_in(self, outcome: OwnerOutcome) -> bool:
        """Whether the outcome shows the defect."""
        shown = _SHOWN.get(self, OwnerViolation.UNPAID)
        return any(each.violation is shown for each in outcome.findings)


_ACTS: Final = {
    OwnerControl.CREDIT: HostileAct.CREDIT,
    OwnerControl.SETUP: HostileAct.SETUPS,
    OwnerControl.CEILING: HostileAct.GROWING,
    OwnerControl.CLAIMED: HostileAct.CHANGES,
}
_SHOWN: Final = {
    OwnerControl.DRY_RUN: OwnerViolation.NEVER_RUN,
    OwnerControl.CLAIMED: OwnerViolation.UNENDED,
}
_ENDS: Final = {
    OwnerControl.CREDIT: {
        "automation/runs/credit_store.py": ("async def return_credit(", _RETURNED_DEAR)
    },
    OwnerControl.SETUP: {"automation/plans/quote.py": ("def price_setup(", _NO_SETUP)},
    OwnerControl.CEILING: {"automation/execution/execute_run.py": ("def paid_limit(", _NO_LIMIT)},
    OwnerControl.CLAIMED: {"automation/runs/run_store.py": ("async def lock_due_run(", _UNLOCKED)},
    OwnerControl.DRY_RUN: {
        "automation/lifecycle/dry_run.py": ("    ONLY_TOO_EARLY,\n", _AS_OF_NOW)
    },
}


def timed_sources(folder: Path) -> Path:
    """Write a copy of the sources whose time can be moved.

    Raises:
        RunFailed: the sources lack the text that is replaced.
    """
    return sources_with_ends(folder, TIMED)


def broken_sources(folder: Path, control: OwnerControl) -> Path:
    """Write such a copy with one defect.

    Raises:
        RunFailed: the sources lack the text that is replaced.
    """
    return sources_with_ends(folder, {**TIMED, **_ENDS[control]})
