"""What the installation of a plan costs the paymaster, and what refuses it, before it is sold."""

from farebox.automation.authority.ledger_bounds import EndTooFar, session_end_ledger
from farebox.automation.execution.longest_life import LongestLife
from farebox.automation.execution.simulate_run import raise_resource_fee
from farebox.automation.execution.sponsor_obstacle import SponsorObstacle
from farebox.automation.execution.sponsorship import (
    SponsoredRefused,
    SponsoredUnavailable,
    SponsorNeeds,
    refused_by_ledger,
)
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.sessions.install_tree import InstallTrees
from farebox.kernel.amounts import Stroops
from farebox.stellar.fees import FeeOverCeiling, plan_fees
from farebox.stellar.rpc import RpcUnavailable
from farebox.stellar.simulation import (
    NeedsRestore,
    Simulated,
    Simulation,
    SimulationRefused,
    UnreadableSimulation,
)

_UNPAID = (ProposalState.PROPOSED, ProposalState.PAYMENT_PENDING)


class InstallCostReader:
    """Simulates installations of one network; see `InstallCosts`."""

    def __init__(self, trees: InstallTrees, life: LongestLife, needs: SponsorNeeds) -> None:
        self._trees, self._life, self._needs = trees, life, needs

    async def read(
        self, plan: StoredPlan
    ) -> Stroops | SponsoredRefused | SponsoredUnavailable | None:
        """See `InstallCosts`.

        The installation is simulated without the owner's signature, which nobody has yet.
        """
        terms, needs = plan.terms, self._needs
        is_installed = terms.mode in (AuthorityMode.SESSION, AuthorityMode.MANDATE)
        if not is_installed or terms.session_spec is None or plan.state not in _UNPAID:
            return None
        longest = await self._life.ledgers()
        try:
            until = session_end_ledger(
                needs.ledgers.now(), terms.window.not_after, max_entry_ttl=longest
            )
        except EndTooFar:
            return SponsoredRefused("end_too_far")
        tree = self._trees.tree(terms, read_spec(terms.session_spec), until=until)
        return self._price((await needs.simulator.record(tree.call, terms.owner)).simulation)

    def _price(self, simulation: Simulation) -> Stroops | SponsoredRefused | SponsoredUnavailable:
        needs = self._needs
        match simulation:
            case Simulated():
                stats, policy = needs.fee_stats(), needs.limits.fees
                fee = plan_fees(raise_resource_fee(simulation), stats, policy, fee_bumped=True)
                if isinstance(fee, FeeOverCeiling):
                    return SponsoredUnavailable(SponsorObstacle.FEE_CEILING)
                return fee.highest_charge
            case SimulationRefused():
                return refused_by_ledger(simulation)
            case NeedsRestore():
                return SponsoredRefused("archived")
            case UnreadableSimulation():
                text = f"a node of {needs.network} gave a response of an unknown form"
                raise RpcUnavailable(needs.network, text, certainly_not_sent=True)
