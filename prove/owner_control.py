"""Builds of the service that must fail the owners' cases: each has one rule of prices less."""

from typing import Final

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import PlanKind
from prove.broken_build import End
from prove.owner_case import HostileOwners, OwnerCase, OwnerOutcome
from prove.owner_hostile import HostileAct
from prove.owner_plans import LifeCase, PlanEnd, PlanStart
from prove.owner_stage import TIMED
from prove.owner_verdict import OwnerViolation
from prove.run_cases import Control, finds

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


def _act(act: HostileAct) -> HostileOwners:
    return HostileOwners(-1, 1, (act,), due_times=2)


_MANDATE: Final = (PlanKind.CONTRACT_CALL, AuthorityMode.MANDATE)


def _control(
    name: str, defect: str, violation: OwnerViolation, case: OwnerCase, end: End
) -> Control[OwnerCase, OwnerOutcome]:
    return Control(name, (case,), TIMED.with_ends(end), finds(violation), defect)


OWNER_CONTROLS: Final[tuple[Control[OwnerCase, OwnerOutcome], ...]] = (
    _control(
        "credit", "credit comes back at another price than that it was paid at",
        OwnerViolation.UNPAID, _act(HostileAct.CREDIT),
        End("automation/runs/credit_store.py", "async def return_credit(", _RETURNED_DEAR),
    ),
    _control(
        "setup", "an installation is not charged", OwnerViolation.UNPAID, _act(HostileAct.SETUPS),
        End("automation/plans/quote.py", "def price_setup(", _NO_SETUP),
    ),
    _control(
        "ceiling", "a run may cost more than it was quoted at", OwnerViolation.UNPAID,
        _act(HostileAct.GROWING),
        End("automation/execution/execute_run.py", "def paid_limit(", _NO_LIMIT),
    ),
    _control(
        "claimed", "a leg can be claimed in the middle of a change of its plan",
        OwnerViolation.UNENDED, _act(HostileAct.CHANGES),
        End("automation/runs/run_store.py", "async def lock_due_run(", _UNLOCKED),
    ),
    _control(
        "dry_run", "the dry run is made as of now, and not of the plan's start",
        OwnerViolation.NEVER_RUN, LifeCase(-1, 1, PlanStart.FUTURE, PlanEnd.LATER, (_MANDATE,)),
        End("automation/lifecycle/dry_run.py", "    ONLY_TOO_EARLY,\n", _AS_OF_NOW),
    ),
)  # fmt: skip
