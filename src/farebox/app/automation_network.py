"""The composition root of automation on one network."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.app.assembly import Loop
from farebox.app.session_services import (
    SessionServices,
    session_services,
    session_signing,
)
from farebox.automation.authority.delegate_keys import BytesSealer, DelegateKeys
from farebox.automation.execution.build_run import RunBuilder
from farebox.automation.execution.check_condition import ConditionCheck
from farebox.automation.execution.execute_run import DriftCheck, RunExecution, RunExecutor
from farebox.automation.execution.fail_run import RunFailures
from farebox.automation.execution.plan_upkeep import PlanUpkeep
from farebox.automation.execution.resolve_run import RunResolver
from farebox.automation.execution.run_authority import (
    Authorities,
    OpenAuthority,
    PresignedAuthority,
)
from farebox.automation.execution.run_channels import RunChannels
from farebox.automation.execution.scheduler import Scheduler
from farebox.automation.execution.send_run import RunSender, RunSending
from farebox.automation.execution.simulate_run import RecordingSimulator, RunSimulator
from farebox.automation.execution.sponsorship import SponsorLimits, SponsorNeeds
from farebox.automation.execution.used_authorizations import UsedAuthorizations
from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.automation.paymaster.paymaster import Paymaster
from farebox.automation.paymaster.paymaster_watch import PaymasterWatch
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.runs.run_journal import RunJournal
from farebox.automation.sessions.contracts_watch import AutomationContracts
from farebox.automation.sessions.mandate_authority import MandateIndexReader
from farebox.automation.sessions.run_trees import RunTrees
from farebox.automation.sessions.session_authority import GuardUseReader
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.fees import FeePolicy
from farebox.stellar.ledger_clock import Ledgers
from farebox.stellar.rpc import FeeStats
from farebox.stellar.signers import OperatorAddresses, SigningAccount
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.storage.pool import Database
from farebox.submission.submit import Submitter

_NO_CONTRACTS: Final = AutomationContracts()
CONCURRENCY: Final = 48  # runs in progress in one process: some are checked while others land


class Sealers(Protocol):
    """What seals the secrets of automation, each in a domain of its own."""

    @property
    def delegates(self) -> BytesSealer: ...
    @property
    def entries(self) -> BytesSealer: ...
    @property
    def envelopes(self) -> BytesSealer: ...


@dataclass(frozen=True, slots=True)
class AutomationLedger:
    """The network as automation uses it, shared with settlement."""

    network: Network
    rpc: SorobanRpc
    ledgers: Ledgers
    submitter: Submitter
    simulator: RecordingSimulator
    operators: OperatorAddresses
    fee_stats: Callable[[], FeeStats | None]
    outages: Callable[[], tuple[str, ...]]  # why the network cannot be used now
    contracts: AutomationContracts = _NO_CONTRACTS


@dataclass(frozen=True, slots=True)
class AutomationLimitsOfNetwork:
    """The operator's limits: for one transaction of a run, for a day, and the paymaster's floor.

    `install_fees` are those of a transaction that installs or closes a session.
    """

    fees: FeePolicy
    budgets: AutomationBudgets
    floor: Stroops
    install_fees: FeePolicy


@dataclass(frozen=True, slots=True)
class AutomationNetwork:
    """The constructed automation of one network; nothing runs yet.

    `steps` are those of a run; a preflight uses its check and its builder, and `trees`.
    """

    paymaster: Paymaster
    watch: PaymasterWatch
    delegates: DelegateKeys
    channels: RunChannels
    steps: RunExecution
    executor: RunExecutor
    scheduler: Scheduler
    sessions: SessionServices
    trees: RunTrees

    @property
    def tasks(self) -> tuple[Loop, ...]:
        """The loops of the network."""
        return (
            Loop("paymaster", self.watch.run),
            Loop("contracts", self.sessions.contracts.run),
            Loop("scheduler", self.scheduler.run),
        )


def build_automation_network(
    ledger: AutomationLedger,
    account: SigningAccount,
    limits: AutomationLimitsOfNetwork,
    database: Database,
    clock: Clock,
    sealers: Sealers,
    *,
    concurrency: int = CONCURRENCY,
) -> AutomationNetwork:
    """Build the automation of one network; `account` is the paymaster's."""
    network, rpc = ledger.network, ledger.rpc
    paymaster, delegates = Paymaster(network, account), DelegateKeys(sealers.delegates)
    watch = _watch(ledger, paymaster, limits, database, clock)
    channels = RunChannels(database, clock)
    journal = RunJournal(database, clock, delegates, limits.budgets)
    signing = session_signing(
        network, rpc, database, delegates, RunSimulator(ledger.simulator), paymaster
    )
    presigned = PresignedAuthority(database, sealers.entries)
    builder = _builder(ledger, paymaster, limits, presigned, signing.authorities)
    used = UsedAuthorizations(rpc, MandateIndexReader(database, rpc), GuardUseReader(database, rpc))
    sending = _sending(ledger, paymaster, journal, channels, clock, sealers.envelopes, used)
    steps = _steps(ledger, sending, clock, builder, signing.drift)
    executor, upkeep = RunExecutor(steps, clock), PlanUpkeep(network, database, clock)

    def closed() -> tuple[str, ...]:
        return (*ledger.outages(), *watch.warnings)

    scheduler = Scheduler(
        network, database, executor, upkeep, clock, closed=closed, concurrency=concurrency
    )
    needs = _sponsoring(ledger, paymaster, limits)
    sessions = session_services(needs, rpc, database, clock, ledger.contracts, signing)
    return AutomationNetwork(
        paymaster, watch, delegates, channels, steps, executor, scheduler, sessions, signing.trees
    )


def _watch(
    ledger: AutomationLedger,
    paymaster: Paymaster,
    limits: AutomationLimitsOfNetwork,
    database: Database,
    clock: Clock,
) -> PaymasterWatch:
    return PaymasterWatch(
        ledger.network,
        paymaster.address,
        database,
        clock,
        account=ledger.rpc.account,
        floor=limits.floor,
    )


def _sponsoring(
    ledger: AutomationLedger, paymaster: Paymaster, limits: AutomationLimitsOfNetwork
) -> SponsorNeeds:
    return SponsorNeeds(
        ledger.network,
        paymaster,
        ledger.submitter,
        RunSimulator(ledger.simulator),
        ledger.ledgers,
        ledger.rpc.account_sequence,
        ledger.fee_stats,
        SponsorLimits(limits.install_fees, limits.fees, limits.budgets),
    )


def _builder(
    ledger: AutomationLedger,
    paymaster: Paymaster,
    limits: AutomationLimitsOfNetwork,
    presigned: PresignedAuthority,
    signed: Authorities,
) -> RunBuilder:
    return RunBuilder(
        {
            AuthorityMode.OPEN: OpenAuthority(paymaster.executor),
            AuthorityMode.PRESIGNED: presigned,
            **signed,
        },
        RunSimulator(ledger.simulator),
        ledger.operators,
        limits.fees,
        ledger_now=ledger.ledgers.now,
        fee_stats=ledger.fee_stats,
    )


def _sending(
    ledger: AutomationLedger,
    paymaster: Paymaster,
    journal: RunJournal,
    channels: RunChannels,
    clock: Clock,
    sealer: BytesSealer,
    used: UsedAuthorizations,
) -> RunSending:
    failures = RunFailures(journal, clock)
    return RunSending(
        paymaster=paymaster,
        channels=channels,
        journal=journal,
        failures=failures,
        resolver=RunResolver(ledger.submitter, used, journal, failures, clock),
        submitter=ledger.submitter,
        sealer=sealer,
        ledgers=ledger.ledgers,
        account_sequence=ledger.rpc.account_sequence,
    )


def _steps(
    ledger: AutomationLedger,
    sending: RunSending,
    clock: Clock,
    builder: RunBuilder,
    drift: DriftCheck,
) -> RunExecution:
    return RunExecution(
        journal=sending.journal,
        check=ConditionCheck(RunSimulator(ledger.simulator)),
        builder=builder,
        sender=RunSender(sending, clock),
        failures=sending.failures,
        resolver=sending.resolver,
        ledger=ledger.rpc,
        ledgers=ledger.ledgers,
        drift=drift,
    )
