"""The composition root: constructors only, top to bottom."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from farebox.app.assembly import Loop, Services
from farebox.app.health import PartHealth
from farebox.app.network_part import NetworkPart, Purse
from farebox.app.settings import NetworkSettings, Settings
from farebox.facilitator.answer import Answering
from farebox.facilitator.conclude import Conclusions
from farebox.facilitator.departure import Departure
from farebox.facilitator.foreign import ForeignLandings
from farebox.facilitator.http import facilitator_routes, failure_bodies
from farebox.facilitator.idempotency import RequestNames
from farebox.facilitator.journal import SettlementJournal
from farebox.facilitator.ledger_room import RoomMeter
from farebox.facilitator.operators import Operators
from farebox.facilitator.reconcile import Reconciler, ReconcileTimes
from farebox.facilitator.seal import Sealer
from farebox.facilitator.send_payment import PaymentSender, SendingNetwork, Waits
from farebox.facilitator.served_network import OperatorRules
from farebox.facilitator.settle import Settler
from farebox.facilitator.sources import PASS_ON_S, SourcePool
from farebox.facilitator.sponsor import Sponsor
from farebox.facilitator.verify import VerifiedNetwork, Verifier
from farebox.kernel.clock import Clock, SystemClock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.stellar.fees import FeePolicy
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.network_state import NetworkState
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.rpc_nodes import RpcNodes
from farebox.stellar.signers import Signers, read_signers
from farebox.storage.database_clock import DatabaseClock
from farebox.storage.pool import Database
from farebox.submission.catch_up import CatchUp
from farebox.submission.submit import Submitter
from farebox.submission.watch import LedgerWatcher

_POLL_S: Final = 0.5  # between two looks for a transaction on its way
_DELIVER_S: Final = 10.0  # how long a node may go on refusing to take one for now
_RECONCILE_EVERY_S: Final = 5.0
_LEAVE_TO_CALLERS_S: Final = 20.0  # four ledgers: what takes longer, its caller may be gone
_SIGN_S: Final = 5.0  # the longest from a free channel to an envelope written down

log = structlog.get_logger(__name__)


class DatabasePart:
    """The database as readiness sees it."""

    name = "database"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def health(self) -> PartHealth:
        """Whether it answers now."""
        await self._database.ping()
        return PartHealth(is_usable=True)


@dataclass(frozen=True, slots=True)
class _Network:
    """Everything of one network."""

    rules: OperatorRules
    signers: Signers
    rpc: RpcNodes
    ledgers: LedgerClock
    state: NetworkState
    part: NetworkPart
    sender: PaymentSender
    reconciler: Reconciler
    operators: Operators
    watcher: LedgerWatcher
    foreign: ForeignLandings
    sponsor: Sponsor
    sources: SourcePool

    @property
    def tasks(self) -> tuple[Loop, ...]:
        """What runs as long as the service does."""
        name = self.rules.network.value
        return (
            Loop(f"{name} clock", self.part.run),
            Loop(f"{name} nodes", self.part.watch_nodes),
            Loop(f"{name} accounts", self.part.watch_accounts),
            Loop(f"{name} state", self.state.run),
            Loop(f"{name} operators", self.operators.run),
            Loop(f"{name} watch", self.watcher.run),
            Loop(f"{name} sponsor", self.sponsor.run),
            Loop(f"{name} reconciliation", self.reconciler.run),
        )


def build_services(settings: Settings) -> Services:
    """Everything the service is made of, nothing of it running yet.

    Raises:
        BadSigner: a secret seed cannot be used.
        Outage: no database is named.
    """
    if settings.database_url is None:
        raise Outage("database", "No database is named: set FAREBOX_DATABASE_URL.")
    database = Database(settings.database_url)
    clock = DatabaseClock(database, SystemClock())
    journal = SettlementJournal(database, clock)
    departure = Departure()
    waits = Waits(answer_s=settings.settle_deadline_s, turn_s=settings.channel_wait_s)
    signers = {
        each.network: read_signers(each.relayer_secret, each.paymaster_secret)
        for each in settings.networks.values()
    }
    networks = {
        each.network: _network(
            settings, each, signers[each.network], database, clock, waits, departure
        )
        for each in settings.networks.values()
    }
    verifier = _verifier(networks)
    senders = {name: each.sender for name, each in networks.items()}
    foreign = {name: each.foreign for name, each in networks.items()}
    settler = Settler(verifier, senders, journal, clock, waits, departure, foreign=foreign)
    operators = {name: each.operators for name, each in networks.items()}
    names = RequestNames(database, clock)
    ledgers = {name: each.ledgers for name, each in networks.items()}
    answering = Answering(settler, names, ledgers, clock)
    return Services(
        routes=facilitator_routes(verifier, answering, journal, operators),
        tasks=[
            Loop("clock", clock.run),
            *(loop for each in networks.values() for loop in each.tasks),
            Loop("request names", names.run),
        ],
        parts=[DatabasePart(database), *(each.part for each in networks.values())],
        resources=[database, clock, *(each.rpc for each in networks.values()), _drained(settler)],
        failure_bodies=failure_bodies(),
        leave=partial(_leave, settler, departure, networks, settings.stop_grace_s),
    )


def _verifier(networks: Mapping[Network, _Network]) -> Verifier:
    return Verifier(
        {
            name: VerifiedNetwork(
                each.rules, each.operators, each.rpc, each.ledgers, each.state, each.sponsor
            )
            for name, each in networks.items()
        }
    )


async def _leave(
    settler: Settler,
    departure: Departure,
    networks: Mapping[Network, _Network],
    grace_s: float,
) -> None:
    """What was begun is carried out for so long; then it is handed over."""
    is_drained = await settler.drain(within_s=grace_s)
    log.info("service.leaving", is_drained=is_drained)
    departure.begin()
    for each in networks.values():
        each.sources.close()
    await settler.drain()


@asynccontextmanager
async def _drained(settler: Settler) -> AsyncIterator[None]:
    """What was claimed is carried out before the database and the nodes are left."""
    yield
    await settler.drain()


def _network(
    settings: Settings,
    own: NetworkSettings,
    signers: Signers,
    database: Database,
    clock: Clock,
    waits: Waits,
    departure: Departure,
) -> _Network:
    journal = SettlementJournal(database, clock, {own.network: own.budgets})
    rules = _rules(settings, own, signers)
    rpc = _nodes(settings, own, clock)
    state = NetworkState(own.network, rpc, clock)
    ledgers = LedgerClock(own.network, rpc, clock, poll_s=settings.clock_poll_s)
    watcher = LedgerWatcher(rpc, ledgers, clock, idle_s=settings.clock_poll_s)
    submitter = _submitter(rpc, watcher, clock, ledgers, state)
    observer = CatchUp(rpc, submitter, ledgers)
    meter = RoomMeter(lambda: state.settings)
    sources = _sources(settings, own.network, signers, database, clock, meter)
    sponsor = Sponsor(own.network, own.budgets, database, clock, dearest=own.max_fee)
    purse = Purse(signers, own.balance_floor, sponsor)
    sealer = Sealer(rules, signers.relayer, rpc, ledgers, meter)
    operators = Operators(own.network, signers.addresses, database, clock)
    conclusions = Conclusions(ForeignLandings(rpc, operators), clock)
    sending = SendingNetwork(rules, sources, sealer, state, submitter, conclusions, departure)
    return _Network(
        rules=rules,
        signers=signers,
        rpc=rpc,
        ledgers=ledgers,
        state=state,
        part=NetworkPart(own.network, rpc, ledgers, state, purse, clock),
        sender=PaymentSender(sending, journal, clock, waits),
        reconciler=_reconciler(settings, own.network, observer, conclusions, journal, clock),
        operators=operators,
        watcher=watcher,
        foreign=conclusions.foreign,
        sponsor=sponsor,
        sources=sources,
    )


def _sources(
    settings: Settings,
    network: Network,
    signers: Signers,
    database: Database,
    clock: Clock,
    meter: RoomMeter,
) -> SourcePool:
    return SourcePool(
        network, signers.relayer, database, clock, lease_s=_lease_s(settings), room=meter
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


def _lease_s(settings: Settings) -> float:
    """How long a lease lasts: passed on as long as may be, and then signed with once more.

    From there on the envelope that is written down keeps others away from the channel. A process
    that was killed keeps its channels from the others for no longer than this.
    """
    return PASS_ON_S + 2 * settings.rpc_timeout_s + _SIGN_S


def _reconciler(
    settings: Settings,
    network: Network,
    observer: CatchUp,
    conclusions: Conclusions,
    journal: SettlementJournal,
    clock: Clock,
) -> Reconciler:
    times = ReconcileTimes(
        every_s=min(_RECONCILE_EVERY_S, settings.settle_deadline_s / 10),
        leave_to_callers_s=min(_LEAVE_TO_CALLERS_S, settings.settle_deadline_s),
        stale_claim_s=settings.channel_wait_s + 2 * settings.rpc_timeout_s + _SIGN_S,
    )
    return Reconciler(network, observer, conclusions, journal, clock, times)


def _nodes(settings: Settings, own: NetworkSettings, clock: Clock) -> RpcNodes:
    """The node and its fallback, if there is one; the deadline of a call is shared by them."""
    urls = [own.rpc_url] if own.fallback_rpc_url is None else [own.rpc_url, own.fallback_rpc_url]
    timeout_s = settings.rpc_timeout_s / len(urls)
    nodes = [
        HttpSorobanRpc(own.network, url, timeout_s=timeout_s, authority=own.rpc_authority)
        for url in urls
    ]
    return RpcNodes(own.network, nodes, clock, wait_s=settings.rpc_timeout_s)


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
