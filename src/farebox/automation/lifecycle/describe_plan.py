"""A plan as the responses of its life show it: with its session, where the mode has material."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from farebox.automation.plan_body import ProposalDetailBody, SessionBody, proposal_body
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan, StoredProposal
from farebox.automation.refusal import AutomationRefused
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage


class MaterialReader(Protocol):
    """Reads what the wallet signs for the session of a plan, and to end it (3.15)."""

    async def material(self, plan: StoredPlan, now: datetime) -> SessionBody:
        """The material as of the newest ledger.

        Raises:
            AutomationRefused: the account cannot have such a session.
            Outage: the network cannot be read now.
        """
        ...


class PlanDescriber(Protocol):
    """Renders a plan for a response."""

    async def describe(self, proposal: StoredProposal) -> ProposalDetailBody: ...


class SessionDescriber:
    """Renders plans with their session; without it while the network cannot be read.

    A change that was made is answered as such, whatever the network does then.
    """

    def __init__(self, clock: Clock, materials: Mapping[AuthorityMode, MaterialReader]) -> None:
        self._clock, self._materials = clock, materials

    async def describe(self, proposal: StoredProposal) -> ProposalDetailBody:
        """See `PlanDescriber`."""
        now = self._clock.now()
        session = await self._session(proposal.plan, now)
        return ProposalDetailBody(proposal_body(proposal, now), session=session)

    async def _session(self, plan: StoredPlan, now: datetime) -> SessionBody | None:
        reader = self._materials.get(plan.terms.mode)
        if reader is None:
            return None
        try:
            return await reader.material(plan, now)
        except (AutomationRefused, Outage):
            return None
