"""The composition root of what signs runs with a delegate's key, on one network."""

from collections.abc import Mapping
from dataclasses import dataclass

from farebox.automation.authority.delegate_keys import DelegateKeys
from farebox.automation.execution.entry_reader import EntryReader
from farebox.automation.execution.run_authority import RunAuthority
from farebox.automation.execution.simulate_run import RunSimulator
from farebox.automation.paymaster.paymaster import Paymaster
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import PlanKind
from farebox.automation.sessions.account_kinds import AccountKindReader
from farebox.automation.sessions.contract_reads import ContractReads
from farebox.automation.sessions.dca_choice import DcaChoice
from farebox.automation.sessions.delegate_signer import DelegateSigner
from farebox.automation.sessions.mandate_authority import MandateAuthority
from farebox.automation.sessions.plan_reader import PlanReader
from farebox.automation.sessions.prices import PriceReader
from farebox.automation.sessions.rebalance_choice import RebalanceChoice
from farebox.automation.sessions.run_choice import DeclaredChoice, RunChooser
from farebox.automation.sessions.run_trees import RunTrees
from farebox.automation.sessions.session_authority import SessionAuthority
from farebox.automation.sessions.swap_quotes import SwapQuotes
from farebox.kernel.networks import Network
from farebox.storage.pool import Database


@dataclass(frozen=True, slots=True)
class SessionSigning:
    """What signs runs with delegate keys: by mode, and what asks portfolios for their drift."""

    authorities: Mapping[AuthorityMode, RunAuthority]
    drift: RebalanceChoice
    signer: DelegateSigner
    kinds: AccountKindReader
    reads: ContractReads


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
    return SessionSigning(authorities, rebalance, signer, kinds, reads)
