"""The composition root of one network."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.app.assembly import Loop
from farebox.app.network_component import NetworkComponent, OperatorFunding
from farebox.app.settings import NetworkSettings, Settings
from farebox.automation.paymaster import channel_store
from farebox.facilitator.budgets.sponsor_budget import SponsorBudget
from farebox.facilitator.channels import store
from farebox.facilitator.channels.channel_leases import PASS_ON_S, ChannelLeases
from farebox.facilitator.channels.ledger_capacity import CapacityMeter
from farebox.facilitator.channels.operator_accounts import OperatorAccounts
from farebox.facilitator.journal.claim_release import ClaimReleaser
from farebox.facilitator.journal.foreign_landing import ForeignLandingSearch
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.journal.reconcile import Reconciler, ReconcileTimes
from farebox.facilitator.journal.status_resolver import StatusResolver
from farebox.facilitator.settling.envelope_builder import EnvelopeBuilder
from farebox.facilitator.settling.send_payment import PaymentSender, SendingNetwork, SettleTimeouts
from farebox.facilitator.settling.shutdown_signal import ShutdownSignal
from farebox.facilitator.verification.operator_rules import OperatorRules
from farebox.facilitator.verification.verify import VerificationNetwork
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.fees import FeePolicy
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.network_state import NetworkState
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.rpc_nodes import RpcNodes
from farebox.stellar.signers import Signers
from farebox.stellar.simulation_slots import SimulationSlots
from farebox.storage.pool import Database
from farebox.submission.catch_up import CatchUp
from farebox.submission.submit import Submitter
from farebox.submission.watch import LedgerWatcher

_POLL_S: Final = 0.5  # between two polls of a pending transaction
_DELIVER_S: Final = 10.0  # how long a node may answer TRY_AGAIN_LATER
_RECONCILE_EVERY_S: Final = 5.0
_LEAVE_TO_CALLERS_S: Final = 20.0  # four ledgers; afterwards the caller may be gone
_OTHER_SIMULATIONS: Final = 8  # for the start check and sign-ins of contract accounts
_CHANNELS: Final = (store, channel_store)  # of settlement, and of automation
_SIGN_S: Final = 5.0  # the maximum time from a free channel to a recorded envelope


@dataclass(frozen=True, slots=True)
class SharedWiring:
    """The services shared by all networks."""

    settings: Settings
    database: Database
    clock: Clock
    journal: SettlementJournal
    releaser: ClaimReleaser
    timeouts: SettleTimeouts
    shutdown: ShutdownSignal


@dataclass(frozen=True, slots=True)
class NetworkServices:
    """The constructed services of one network; nothing runs yet."""

    verified: VerificationNetwork
    rpc: RpcNodes
    ledgers: LedgerClock
    submitter: Submitter
    part: NetworkComponent
    sender: PaymentSender
    operators: OperatorAccounts
    foreign: ForeignLandingSearch
    leases: ChannelLeases
    simulations: SimulationSlots
    tasks: tuple[Loop, ...]


def build_network(shared: SharedWiring, own: NetworkSettings, signers: Signers) -> NetworkServices:
    """Build the services of one network."""
    settings, clock, database = shared.settings, shared.clock, shared.database
    rules, rpc = _rules(settings, own, signers), _nodes(settings, own, clock, signers)
    state = NetworkState(own.network, rpc, clock)
    ledgers = LedgerClock(own.network, rpc, clock, poll_s=settings.clock_poll_s)
    watcher = LedgerWatcher(rpc, ledgers, clock, idle_s=settings.clock_poll_s)
    submitter = _submitter(rpc, watcher, clock, ledgers, state)
    meter = CapacityMeter(lambda: state.settings)
    leases = _leases(shared, own, signers, meter)
    budget = SponsorBudget(own.network, own.budgets, database, clock, highest_fee=own.max_fee)
    operators = OperatorAccounts(own.network, signers.addresses, database, clock, _CHANNELS)
    builder = _builder(rules, signers, rpc, ledgers, state, meter)
    statuses = StatusResolver(ForeignLandingSearch(rpc, operators), clock, ledgers, rpc.trust)
    slots = SimulationSlots(own.network, rpc, own.rpc_simulations)
    sending = SendingNetwork(leases, builder, submitter, statuses, shared.shutdown)
    funding = OperatorFunding(signers, own.balance_floor, budget)
    part = NetworkComponent(own.network, rpc, ledgers, state, funding, clock)
    return NetworkServices(
        verified=VerificationNetwork(rules, operators, slots, ledgers, state, budget),
        simulations=slots,
        rpc=rpc,
        ledgers=ledgers,
        submitter=submitter,
        part=part,
        sender=PaymentSender(sending, shared.journal, shared.releaser, clock, shared.timeouts),
        operators=operators,
        foreign=ForeignLandingSearch(rpc, operators),
        leases=leases,
        tasks=_loops(
            own.network,
            clock=part.run,
            nodes=part.watch_nodes,
            accounts=part.watch_accounts,
            state=state.run,
            operators=operators.run,
            watch=watcher.run,
            sponsor=budget.run,
            reconciliation=_reconciler(shared, own, CatchUp(rpc, submitter, ledgers), statuses).run,
        ),
    )


def _loops(
    network: Network, **runs: Callable[[], Coroutine[object, object, None]]
) -> tuple[Loop, ...]:
    return tuple(Loop(f"{network.value} {name}", run) for name, run in runs.items())


def _builder(
    rules: OperatorRules,
    signers: Signers,
    rpc: RpcNodes,
    ledgers: LedgerClock,
    state: NetworkState,
    meter: CapacityMeter,
) -> EnvelopeBuilder:
    return EnvelopeBuilder(
        rules,
        signers.relayer,
        meter,
        ledger_now=ledgers.now,
        account_sequence=rpc.account_sequence,
        fee_stats=lambda: state.fees,
    )


def _submitter(
    rpc: RpcNodes,
    watcher: LedgerWatcher,
    clock: Clock,
    ledgers: LedgerClock,
    state: NetworkState,
) -> Submitter:
    return Submitter(
        rpc,
        watcher,
        clock,
        poll_s=_POLL_S,
        deliver_s=_DELIVER_S,
        ledgers=ledgers,
        on_resources_refused=state.suspect,
    )


def _leases(
    shared: SharedWiring, own: NetworkSettings, signers: Signers, meter: CapacityMeter
) -> ChannelLeases:
    """Build the channel leases.

    A lease lasts until it is passed on and one more envelope is recorded; from then on the envelope
    protects the channel. The channels of a killed process are blocked for no longer than this.
    """
    lease_s = PASS_ON_S + 2 * shared.settings.rpc_timeout_s + _SIGN_S
    relayer = signers.relayer.address
    return ChannelLeases(
        own.network,
        relayer,
        shared.database,
        shared.clock,
        lease_s=lease_s,
        capacity=meter.capacity,
    )


def _reconciler(
    shared: SharedWiring, own: NetworkSettings, observer: CatchUp, statuses: StatusResolver
) -> Reconciler:
    settings = shared.settings
    times = ReconcileTimes(
        every_s=min(_RECONCILE_EVERY_S, settings.settle_deadline_s / 10),
        leave_to_callers_s=min(_LEAVE_TO_CALLERS_S, settings.settle_deadline_s),
        stale_claim_s=settings.channel_wait_s + 2 * settings.rpc_timeout_s + _SIGN_S,
    )
    return Reconciler(own.network, observer, statuses, shared.journal, shared.clock, times)


def _nodes(settings: Settings, own: NetworkSettings, clock: Clock, signers: Signers) -> RpcNodes:
    """Build the client of the node and its fallback, which share the deadline of a call."""
    urls = [own.rpc_url] if own.fallback_rpc_url is None else [own.rpc_url, own.fallback_rpc_url]
    timeout_s = settings.rpc_timeout_s / len(urls)
    nodes = [
        HttpSorobanRpc(
            own.network,
            url,
            timeout_s=timeout_s,
            max_simulations=own.rpc_simulations + _OTHER_SIMULATIONS,
            authority=own.rpc_authority,
            latest_close=latest_close(settings, clock),
        )
        for url in urls
    ]
    return RpcNodes(
        own.network, nodes, clock, relayer=signers.relayer.address, wait_s=settings.rpc_timeout_s
    )


def latest_close(settings: Settings, clock: Clock) -> Callable[[], datetime] | None:
    """The latest close time of a ledger that is believed at each moment; None for any."""
    tolerance = timedelta(seconds=settings.ledger_time_tolerance_s)
    return (lambda: clock.now() + tolerance) if tolerance else None


def _rules(settings: Settings, own: NetworkSettings, signers: Signers) -> OperatorRules:
    return OperatorRules(
        network=own.network,
        relayer=signers.relayer.address,
        assets=own.assets,
        fees=FeePolicy(ceiling=own.max_fee, inclusion_cap=own.max_inclusion_fee),
        expiry_tolerance_ledgers=settings.expiry_tolerance_ledgers,
        min_life_ledgers=settings.min_life_ledgers,
        transaction_life_s=settings.transaction_life_s,
    )
