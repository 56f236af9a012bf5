"""The composition root of sessions and mandates on one network."""

from collections.abc import Mapping
from dataclasses import dataclass

from farebox.automation.authority.delegate_keys import DelegateKeys
from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.execution.longest_life import LongestLife
from farebox.automation.execution.run_authority import RunAuthority
from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.execution.sponsorship import SponsorNeeds, Sponsorship
from farebox.automation.paymaster.paymaster import Paymaster
from farebox.automation.plan_body import SessionContractBody
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import PlanKind
from farebox.automation.sessions.account_kinds import AccountKindReader
from farebox.automation.sessions.closings import SessionClosings
from farebox.automation.sessions.contract_codes import pinned_hash
from farebox.automation.sessions.contract_reads import ContractReads
from farebox.automation.sessions.contracts_watch import AutomationContracts, ContractsWatch
from farebox.automation.sessions.dca_choice import DcaChoice
from farebox.automation.sessions.delegate_signer import DelegateSigner
from farebox.automation.sessions.install_cost import InstallCostReader
from farebox.automation.sessions.install_tree import InstallTrees
from farebox.automation.sessions.installing import SessionInstallations
from farebox.automation.sessions.mandate_authority import MandateAuthority
from farebox.automation.sessions.owner_transaction import OwnerTransactions
from farebox.automation.sessions.plan_reader import PlanReader
from farebox.automation.sessions.prices import PriceReader
from farebox.automation.sessions.read_back import SessionReadBack
from farebox.automation.sessions.rebalance_choice import RebalanceChoice
from farebox.automation.sessions.run_choice import DeclaredChoice, RunChooser
from farebox.automation.sessions.run_trees import RunTrees
from farebox.automation.sessions.session_authority import SessionAuthority
from farebox.automation.sessions.signed_materials import MaterialNeeds, SignedMaterials
from farebox.automation.sessions.swap_quotes import SwapQuotes
from farebox.automation.sessions.venues import RouterVenues
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.storage.pool import Database


@dataclass(frozen=True, slots=True)
class SessionSigning:
    """What signs runs with delegate keys: by mode, and what asks portfolios for their drift."""

    authorities: Mapping[AuthorityMode, RunAuthority]
    trees: RunTrees
    drift: RebalanceChoice
    signer: DelegateSigner
    kinds: AccountKindReader
    reads: ContractReads


@dataclass(frozen=True, slots=True)
class SessionServices:
    """What installs, shows and closes the sessions of one network."""

    contracts: ContractsWatch
    materials: SignedMaterials
    installations: SessionInstallations
    closings: SessionClosings
    venues: RouterVenues
    kinds: AccountKindReader
    life: LongestLife
    costs: InstallCostReader

    @property
    def bodies(self) -> tuple[SessionContractBody, ...]:
        """The contracts that the operator has named, as responses show them."""
        return tuple(
            SessionContractBody(each, at, pinned_hash(each).hex(), is_audited=False)
            for each, at in self.contracts.named.contracts.items()
        )


def session_signing(
    network: Network,
    ledger: EntryReader,
    database: Database,
    delegates: DelegateKeys,
    simulator: RunSimulator,
    paymaster: Paymaster,
) -> SessionSigning:
    """Build the authorities of the modes whose runs a delegate signs."""
    declared, reads, plans = DeclaredChoice(), ContractReads(simulator), PlanReader(database)
    quotes, prices = SwapQuotes(reads), PriceReader(reads)
    rebalance = RebalanceChoice(plans, reads, quotes, prices)
    choosers: dict[PlanKind, RunChooser] = {
        PlanKind.CONTRACT_CALL: declared,
        PlanKind.DISBURSEMENT: declared,
        PlanKind.DCA: DcaChoice(plans, quotes, prices),
        PlanKind.REBALANCE: rebalance,
    }
    trees, signer = RunTrees(simulator, choosers), DelegateSigner(network, delegates)
    kinds = AccountKindReader(ledger)
    authorities: dict[AuthorityMode, RunAuthority] = {
        AuthorityMode.MANDATE: MandateAuthority(database, ledger, trees, signer),
        AuthorityMode.SESSION: SessionAuthority(
            database, ledger, trees, signer, kinds, paymaster.nonce_key
        ),
    }
    return SessionSigning(authorities, trees, rebalance, signer, kinds, reads)


def session_services(
    needs: SponsorNeeds,
    node: SorobanRpc,
    database: Database,
    clock: Clock,
    named: AutomationContracts,
    signing: SessionSigning,
) -> SessionServices:
    """Build what installs, shows and closes sessions."""
    network, paymaster = needs.network, needs.paymaster
    contracts = ContractsWatch(network, named, node, clock)
    trees, sponsorship = InstallTrees(contracts), Sponsorship(needs, database, clock)
    read_back = SessionReadBack(node, signing.reads, signing.kinds, trees)
    transactions = OwnerTransactions(
        needs.simulator,
        needs.limits.fees,
        account_sequence=needs.account_sequence,
        fee_stats=needs.fee_stats,
    )
    life = LongestLife(network, node, clock)
    material = MaterialNeeds(
        trees,
        signing.kinds,
        life,
        transactions,
        paymaster.nonce_key,
        needs.ledgers.now,
    )
    return SessionServices(
        contracts=contracts,
        materials=SignedMaterials(material, database),
        installations=SessionInstallations(
            database, clock, node, needs.ledgers, trees, read_back, sponsorship
        ),
        closings=SessionClosings(network, database, clock, signing.signer, sponsorship, read_back),
        venues=RouterVenues(named, signing.reads),
        kinds=signing.kinds,
        life=life,
        costs=InstallCostReader(trees, life, needs),
    )
