"""The tree that an owner signs to install a session, as it is issued and as it comes back."""

from dataclasses import dataclass

from farebox.automation.authority.installation import (
    SessionContracts,
    install_session,
    open_mandate,
)
from farebox.automation.plans.policy_id import mandate_address
from farebox.automation.plans.session_spec import AuthorityMode, SessionSpec
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.automation.sessions.contracts_watch import ContractsWatch
from farebox.kernel.addresses import Address
from farebox.stellar.auth_entries import AuthEntry
from farebox.stellar.invocations import Invocation, read_invocation
from farebox.stellar.scval import ScKind
from farebox.stellar.scval_reader import number_in
from farebox.stellar.xdr_reader import Malformed


@dataclass(frozen=True, slots=True)
class InstallTrees:
    """The trees of one network's contracts."""

    contracts: ContractsWatch

    def tree(self, terms: PlanTerms, spec: SessionSpec, *, until: int) -> Invocation:
        """The tree of a plan; `until` is the last ledger of its rules or approvals.

        Raises:
            AutomationRefused: the operator has not named the contracts.
        """
        if terms.mode is AuthorityMode.MANDATE:
            factory = self.contracts.address(ServiceContract.FACTORY)
            return open_mandate(spec, factory, self.mandate(terms), live_until=until)
        return install_session(spec, terms.policy_id, self.session_contracts(), valid_until=until)

    def mandate(self, terms: PlanTerms) -> Address:
        """Where the plan's mandate is or will be; raises as `tree`."""
        factory = self.contracts.address(ServiceContract.FACTORY)
        return mandate_address(terms.network, factory, terms.policy_id)

    def session_contracts(self) -> SessionContracts:
        """The contracts of sessions; the factory is not among those that they need."""
        guard, verifier, installer = (
            self.contracts.address(each)
            for each in (
                ServiceContract.GUARD,
                ServiceContract.VERIFIER,
                ServiceContract.INSTALLER,
            )
        )
        return SessionContracts(guard, verifier, installer, factory=installer)

    def read_until(self, terms: PlanTerms, spec: SessionSpec, entry: AuthEntry) -> int | None:
        """The last ledger in a signed entry whose tree is otherwise the issued one; None else."""
        try:
            signed = read_invocation(entry.invocation)
            until = number_in(signed.arguments[-1], ScKind.U32)
        except (Malformed, IndexError):
            return None
        return until if signed == self.tree(terms, spec, until=until) else None
