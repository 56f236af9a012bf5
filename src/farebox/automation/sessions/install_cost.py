"""What the installation of a plan will cost the paymaster, by a simulation before it is signed."""

from farebox.automation.authority.ledger_bounds import EndTooFar, session_end_ledger
from farebox.automation.execution.longest_life import LongestLife
from farebox.automation.execution.simulate_run import raise_resource_fee
from farebox.automation.execution.sponsorship import SponsorNeeds
from farebox.automation.plans.proposal_state import ProposalState
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.automation.sessions.install_tree import InstallTrees
from farebox.kernel.amounts import Stroops
from farebox.stellar.fees import FeeOverCeiling, plan_fees
from farebox.stellar.simulation import Simulated

_UNPAID = (ProposalState.PROPOSED, ProposalState.PAYMENT_PENDING)


class InstallCostReader:
    """Simulates installations of one network; see `InstallCosts`."""

    def __init__(self, trees: InstallTrees, life: LongestLife, needs: SponsorNeeds) -> None:
        self._trees, self._life, self._needs = trees, life, needs

    async def read(self, plan: StoredPlan) -> Stroops | None:
        """See `InstallCosts`.

        The installation is simulated without the owner's signature, which nobody has yet. One that
        fails as of now is charged with the operator's limit.
        """
        terms, needs = plan.terms, self._needs
        is_installed = terms.mode in (AuthorityMode.SESSION, AuthorityMode.MANDATE)
        if not is_installed or terms.session_spec is None or plan.state not in _UNPAID:
            return None
        ceiling = needs.limits.fees.ceiling
        longest = await self._life.ledgers()
        try:
            until = session_end_ledger(
                needs.ledgers.now(), terms.window.not_after, max_entry_ttl=longest
            )
        except EndTooFar:
            return ceiling
        tree = self._trees.tree(terms, read_spec(terms.session_spec), until=until)
        simulation = (await needs.simulator.record(tree.call, terms.owner)).simulation
        if not isinstance(simulation, Simulated):
            return ceiling
        fee = plan_fees(
            raise_resource_fee(simulation), needs.fee_stats(), needs.limits.fees, fee_bumped=True
        )
        return ceiling if isinstance(fee, FeeOverCeiling) else fee.highest_charge
