"""Everything of one network: constructors only, top to bottom."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Final

from farebox.app.assembly import Loop
from farebox.app.network_part import NetworkPart, Purse
from farebox.app.settings import NetworkSettings, Settings
from farebox.facilitator.budgets.sponsor import Sponsor
from farebox.facilitator.channels.ledger_room import RoomMeter
from farebox.facilitator.channels.operators import Operators
from farebox.facilitator.channels.sources import PASS_ON_S, SourcePool
from farebox.facilitator.journal.conclude import Conclusions
from farebox.facilitator.journal.foreign import ForeignLandings
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.journal.reconcile import Reconciler, ReconcileTimes
from farebox.facilitator.settling.departure import Departure
from farebox.facilitator.settling.seal import Sealer
from farebox.facilitator.settling.send_payment import PaymentSender, SendingNetwork, Waits
from farebox.facilitator.verification.served_network import OperatorRules
from farebox.facilitator.verification.verify import VerifiedNetwork
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.fees import FeePolicy
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.network_state import NetworkState
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.rpc_nodes import RpcNodes
from farebox.stellar.signers import Signers
from farebox.storage.pool import Database
from farebox.submission.catch_up import CatchUp
from farebox.submission.submit import Submitter
from farebox.submission.watch import LedgerWatcher

_POLL_S: Final = 0.5  # between two looks for a transaction on its way
_DELIVER_S: Final = 10.0  # how long a node may go on refusing to take one for now
_RECONCILE_EVERY_S: Final = 5.0
_LEAVE_TO_CALLERS_S: Final = 20.0  # four ledgers: what takes longer, its caller may be gone
_SIGN_S: Final = 5.0  # the longest from a free channel to an envelope written down


@dataclass(frozen=True, slots=True)
class Shared:
    """What all networks have in common."""

    settings: Settings
    database: Database
    clock: Clock
    journal: SettlementJournal
    waits: Waits
    departure: Departure


@dataclass(frozen=True, slots=True)
class NetworkServices:
    """The parts of one network that others are made from."""

    verified: VerifiedNetwork
    rpc: RpcNodes
    ledgers: LedgerClock
    part: NetworkPart
    sender: PaymentSender
    operators: Operators
    foreign: ForeignLandings
    sources: SourcePool
    tasks: tuple[Loop, ...]


def build_network(shared: Shared, own: NetworkSettings, signers: Signers) -> NetworkServices:
    """Everything of one network, nothing of it running yet."""
    settings, clock = shared.settings, shared.clock
    rules = _rules(settings, own, signers)
    rpc = _nodes(settings, own, clock, signers)
    state = NetworkState(own.network, rpc, clock)
    ledgers = LedgerClock(own.network, rpc, clock, poll_s=settings.clock_poll_s)
    watcher = LedgerWatcher(rpc, ledgers, clock, idle_s=settings.clock_poll_s)
    submitter = _submitter(rpc, watcher, clock, ledgers, state)
    meter = RoomMeter(lambda: state.settings)
    sources = _sources(shared, own, signers, meter)
    sponsor = Sponsor(own.network, own.budgets, shared.database, clock, dearest=own.max_fee)
    operators = Operators(own.network, signers.addresses, shared.database, clock)
    sealer = Sealer(rules, signers.relayer, rpc, ledgers, meter)
    conclusions = Conclusions(ForeignLandings(rpc, operators), clock)
    departure = shared.departure
    sending = SendingNetwork(rules, sources, sealer, state, submitter, conclusions, departure)
    purse = Purse(signers, own.balance_floor, sponsor)
    part = NetworkPart(own.network, rpc, ledgers, state, purse, clock)
    reconciler = _reconciler(shared, own, CatchUp(rpc, submitter, ledgers), conclusions)
    return NetworkServices(
        verified=VerifiedNetwork(rules, operators, rpc, ledgers, state, sponsor),
        rpc=rpc,
        ledgers=ledgers,
        part=part,
        sender=PaymentSender(sending, shared.journal, clock, shared.waits),
        operators=operators,
        foreign=ForeignLandings(rpc, operators),
        sources=sources,
        tasks=_loops(
            own.network,
            clock=part.run,
            nodes=part.watch_nodes,
            accounts=part.watch_accounts,
            state=state.run,
            operators=operators.run,
            watch=watcher.run,
            sponsor=sponsor.run,
            reconciliation=reconciler.run,
        ),
    )


def _loops(
    network: Network, **runs: Callable[[], Coroutine[object, object, None]]
) -> tuple[Loop, ...]:
    return tuple(Loop(f"{network.value} {name}", run) for name, run in runs.items())


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


def _sources(
    shared: Shared, own: NetworkSettings, signers: Signers, meter: RoomMeter
) -> SourcePool:
    """A lease lasts as long as it is passed on, and until it was then signed with once more.

    From there on the envelope that is written down keeps others away from the channel. A process
    that was killed keeps its channels from the others for no longer than this.
    """
    lease_s = PASS_ON_S + 2 * shared.settings.rpc_timeout_s + _SIGN_S
    return SourcePool(
        own.network, signers.relayer, shared.database, shared.clock, lease_s=lease_s, room=meter
    )


def _reconciler(
    shared: Shared, own: NetworkSettings, observer: CatchUp, conclusions: Conclusions
) -> Reconciler:
    settings = shared.settings
    times = ReconcileTimes(
        every_s=min(_RECONCILE_EVERY_S, settings.settle_deadline_s / 10),
        leave_to_callers_s=min(_LEAVE_TO_CALLERS_S, settings.settle_deadline_s),
        stale_claim_s=settings.channel_wait_s + 2 * settings.rpc_timeout_s + _SIGN_S,
    )
    return Reconciler(own.network, observer, conclusions, shared.journal, shared.clock, times)


def _nodes(settings: Settings, own: NetworkSettings, clock: Clock, signers: Signers) -> RpcNodes:
    """The node and its fallback, if there is one; the deadline of a call is shared by them."""
    urls = [own.rpc_url] if own.fallback_rpc_url is None else [own.rpc_url, own.fallback_rpc_url]
    timeout_s = settings.rpc_timeout_s / len(urls)
    nodes = [
        HttpSorobanRpc(own.network, url, timeout_s=timeout_s, authority=own.rpc_authority)
        for url in urls
    ]
    return RpcNodes(
        own.network, nodes, clock, relayer=signers.relayer.address, wait_s=settings.rpc_timeout_s
    )


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
