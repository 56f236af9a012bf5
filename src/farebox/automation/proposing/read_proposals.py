"""Read plans as their owner does: one, a page, what to sign for one, and what stands in its way."""

from collections.abc import Sequence

from farebox.automation.plan_body import PlanSessionBody
from farebox.automation.plans import owned_proposal_store
from farebox.automation.plans.owned_proposal_store import ProposalFilter
from farebox.automation.plans.stored_plan import StoredProposal
from farebox.automation.proposing.preflight_report import PreflightReport
from farebox.automation.proposing.propose import ID_KIND, ProposalDetail
from farebox.automation.proposing.proposing_network import ProposingNetworks
from farebox.automation.proposing.quotes import Quotes
from farebox.automation.proposing.record_proposal import require_proposal
from farebox.automation.refusal import AutomationRefused, NetworkUnavailable
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import Clock
from farebox.kernel.errors import NotFound
from farebox.kernel.ids import is_id
from farebox.kernel.pages import Place
from farebox.storage.pool import Database


class ProposalReader:
    """Reads the plans of owners."""

    def __init__(
        self, database: Database, clock: Clock, networks: ProposingNetworks, quotes: Quotes
    ) -> None:
        self._database, self.clock = database, clock
        self._networks, self._quotes = networks, quotes

    async def find(self, owner: OwnerId, proposal_id: str) -> ProposalDetail:
        """Find the owner's plan with its quote, and its session where the network can be read.

        Raises:
            NotFound: the owner has no such plan.
        """
        row = await self._row(owner, proposal_id)
        now, network = self.clock.now(), self._networks.find(row.plan.terms.network)
        if network is None:
            return ProposalDetail(row)
        async with self._database.connection() as db:
            quote = await self._quotes.current(db, row.plan.terms, now=now)
        try:
            session = await network.session(row.plan, now)
        except (NetworkUnavailable, AutomationRefused):
            session = None
        return ProposalDetail(row, quote, session)

    async def page(
        self, owner: OwnerId, wanted: ProposalFilter, *, after: Place | None, limit: int
    ) -> Sequence[StoredProposal]:
        """List the owner's plans after a position, newest first."""
        async with self._database.connection() as db:
            return await owned_proposal_store.list_proposals(
                db, owner, wanted, after=after, limit=limit
            )

    async def preflight(self, owner: OwnerId, proposal_id: str) -> PreflightReport:
        """Judge the owner's plan as of the newest ledger.

        Raises:
            NotFound: the owner has no such plan.
            NetworkUnavailable: the network cannot be read now.
            AutomationUnavailable: the network has no paymaster here any more.
        """
        plan = (await self._row(owner, proposal_id)).plan
        return await self._networks.require(plan.terms.network).judge(plan, self.clock.now())

    async def session(self, owner: OwnerId, proposal_id: str) -> PlanSessionBody:
        """The session material of the owner's plan as of the newest ledger.

        Raises:
            NotFound: the owner has no such plan.
            AutomationRefused: its mode is not offered any more.
            NetworkUnavailable: the network cannot be read now.
            AutomationUnavailable: the network has no paymaster here any more.
        """
        plan = (await self._row(owner, proposal_id)).plan
        return await self._networks.require(plan.terms.network).session(plan, self.clock.now())

    async def _row(self, owner: OwnerId, proposal_id: str) -> StoredProposal:
        if not is_id(ID_KIND, proposal_id):
            raise NotFound
        async with self._database.connection() as db:
            return await require_proposal(db, owner, proposal_id)
