"""The composition root of what signs runs with a delegate's key, on one network."""

from collections.abc import Mapping

from farebox.automation.authority.delegate_keys import DelegateKeys
from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.execution.run_authority import RunAuthority
from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import PlanKind
from farebox.automation.sessions.delegate_signer import DelegateSigner
from farebox.automation.sessions.mandate_authority import MandateAuthority
from farebox.automation.sessions.run_choice import DeclaredChoice, RunChooser
from farebox.automation.sessions.run_trees import RunTrees
from farebox.kernel.networks import Network
from farebox.storage.pool import Database


def session_authorities(
    network: Network,
    ledger: EntryReader,
    database: Database,
    delegates: DelegateKeys,
    simulator: RunSimulator,
) -> Mapping[AuthorityMode, RunAuthority]:
    """The authorities of the modes whose runs a delegate signs."""
    declared = DeclaredChoice()
    choosers: dict[PlanKind, RunChooser] = {
        PlanKind.CONTRACT_CALL: declared,
        PlanKind.DISBURSEMENT: declared,
    }
    trees, signer = RunTrees(simulator, choosers), DelegateSigner(network, delegates)
    return {AuthorityMode.MANDATE: MandateAuthority(database, ledger, trees, signer)}
