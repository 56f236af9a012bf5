"""The composition root of automation on one network."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.app.assembly import Loop
from farebox.automation.authority.delegate_keys import BytesSealer, DelegateKeys
from farebox.automation.execution.build_run import RunBuilder
from farebox.automation.execution.check_condition import ConditionCheck
from farebox.automation.execution.execute_run import RunExecution, RunExecutor
from farebox.automation.execution.fail_run import RunFailures
from farebox.automation.execution.plan_upkeep import PlanUpkeep
from farebox.automation.execution.resolve_run import RunResolver
from farebox.automation.execution.run_authority import OpenAuthority, PresignedAuthority
from farebox.automation.execution.run_channels import RunChannels
from farebox.automation.execution.scheduler import Scheduler
from farebox.automation.execution.send_run import RunSender, RunSending
from farebox.automation.execution.simulate_run import RecordingSimulator, RunSimulator
from farebox.automation.paymaster.budget_store import AutomationBudgets
from farebox.automation.paymaster.paymaster import Paymaster
from farebox.automation.paymaster.paymaster_watch import PaymasterWatch
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.runs.run_journal import RunJournal
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


@dataclass(frozen=True, slots=True)
class AutomationLimitsOfNetwork:
    """The operator's limits: for one transaction of a run, for a day, and the paymaster's floor."""

    fees: FeePolicy
    budgets: AutomationBudgets
    floor: Stroops


@dataclass(frozen=True, slots=True)
class AutomationNetwork:
    """The constructed automation of one network; nothing runs yet.

    `steps` are those of a run; a preflight uses its check and its builder.
    """

    paymaster: Paymaster
    watch: PaymasterWatch
    delegates: DelegateKeys
    channels: RunChannels
    steps: RunExecution
    executor: RunExecutor
    scheduler: Scheduler

    @property
    def tasks(self) -> tuple[Loop, ...]:
        """The loops of the network."""
        return (Loop("paymaster", self.watch.run), Loop("scheduler", self.scheduler.run))


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
    floor = limits.floor
    watch = PaymasterWatch(
        network, paymaster.address, database, clock, account=rpc.account, floor=floor
    )
    channels, journal = (
        RunChannels(database, clock),
        RunJournal(database, clock, delegates, limits.budgets),
    )
    simulator, entries = RunSimulator(ledger.simulator), sealers.entries
    builder = _builder(ledger, paymaster, limits, PresignedAuthority(database, entries), simulator)
    steps = _steps(ledger, paymaster, journal, channels, clock, sealers.envelopes, builder)
    executor, upkeep = RunExecutor(steps, clock), PlanUpkeep(network, database, clock)
    scheduler = Scheduler(
        network,
        database,
        executor,
        upkeep,
        clock,
        closed=lambda: (*ledger.outages(), *watch.warnings),
        concurrency=concurrency,
    )
    return AutomationNetwork(paymaster, watch, delegates, channels, steps, executor, scheduler)


def _builder(
    ledger: AutomationLedger,
    paymaster: Paymaster,
    limits: AutomationLimitsOfNetwork,
    presigned: PresignedAuthority,
    simulator: RunSimulator,
) -> RunBuilder:
    return RunBuilder(
        {
            AuthorityMode.OPEN: OpenAuthority(paymaster.executor),
            AuthorityMode.PRESIGNED: presigned,
        },
        simulator,
        ledger.operators,
        limits.fees,
        ledger_now=ledger.ledgers.now,
        fee_stats=ledger.fee_stats,
    )


def _steps(
    ledger: AutomationLedger,
    paymaster: Paymaster,
    journal: RunJournal,
    channels: RunChannels,
    clock: Clock,
    sealer: BytesSealer,
    builder: RunBuilder,
) -> RunExecution:
    failures = RunFailures(journal, clock)
    resolver = RunResolver(ledger.submitter, ledger.rpc, journal, failures, clock)
    sending = RunSending(
        paymaster=paymaster,
        channels=channels,
        journal=journal,
        failures=failures,
        resolver=resolver,
        submitter=ledger.submitter,
        sealer=sealer,
        ledgers=ledger.ledgers,
        account_sequence=ledger.rpc.account_sequence,
    )
    return RunExecution(
        journal=journal,
        check=ConditionCheck(RunSimulator(ledger.simulator)),
        builder=builder,
        sender=RunSender(sending, clock),
        failures=failures,
        resolver=resolver,
        ledger=ledger.rpc,
        ledgers=ledger.ledgers,
    )
