"""The fees that a price is made of, where runs are free and where they are not."""

from datetime import datetime

import pytest

from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.quote import FreshFees
from farebox.automation.plans.stored_plan import PlanCounters, StoredPlan
from farebox.automation.proposing.availability import Availability
from farebox.automation.proposing.preflight import Preflight
from farebox.automation.proposing.preflight_report import PreflightReport
from farebox.automation.proposing.run_fees import FeeNetwork, RunFees
from farebox.kernel.amounts import Stroops
from farebox.kernel.errors import Refusal
from farebox.kernel.networks import Network
from farebox.stellar.rpc import RpcUnavailable
from support.automation import draft_plan
from support.manual_clock import START

NET = Network.TESTNET


class PassedPreflight(Preflight):
    """A preflight that every plan passes."""

    def __init__(self) -> None:
        pass

    async def judge(self, plan: StoredPlan, now: datetime) -> PreflightReport:
        return PreflightReport((), Stroops(700))


class UnreadableInstalls:
    """No node tells what an installation costs."""

    async def read(self, plan: StoredPlan) -> Stroops | None:
        raise RpcUnavailable(NET, "no node answers", certainly_not_sent=True)


def fees(*, is_free: bool) -> RunFees:
    availability = Availability(outages=tuple, is_funded=lambda: True)
    network = FeeNetwork(availability, PassedPreflight(), UnreadableInstalls())
    return RunFees({NET: network}, lambda _: is_free)


async def test_free_plan_needs_no_price_of_its_installation() -> None:
    plan = StoredPlan(draft_plan().terms, ProposalState.PROPOSED, PlanCounters())
    assert await fees(is_free=True).read(plan, START) == FreshFees(Stroops(700))


async def test_control_plan_with_a_price_waits_for_that_of_its_installation() -> None:
    plan = StoredPlan(draft_plan().terms, ProposalState.PROPOSED, PlanCounters())
    with pytest.raises(Refusal):
        await fees(is_free=False).read(plan, START)
