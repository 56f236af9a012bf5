"""The composition root of the service."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from farebox.app.account_services import build_accounts
from farebox.app.agent_services import build_agents
from farebox.app.assembly import Loop, Services, join_features
from farebox.app.automation_lifecycle import build_lifecycle
from farebox.app.automation_services import AutomationServices, build_automation
from farebox.app.catalog_services import build_catalog
from farebox.app.console import check_console, read_console
from farebox.app.database_pools import Pools, build_pools
from farebox.app.facilitator_services import build_facilitator
from farebox.app.gateway_services import GatewayNeeds, build_gateway, gateway_sales
from farebox.app.health import ComponentHealth
from farebox.app.ingress_services import build_ingress
from farebox.app.lifespan import restart_on_failure
from farebox.app.network_services import NetworkServices, SharedWiring, build_network
from farebox.app.proposing_services import build_proposing
from farebox.app.retention import plan_rules, prune_rules
from farebox.app.run_payment_services import build_run_payments
from farebox.app.settings import Settings
from farebox.app.sign_in_services import AccountNetworks, build_sign_in
from farebox.app.skill_services import build_skills
from farebox.app.vault_services import build_vault
from farebox.app.wallet_services import build_wallets
from farebox.facilitator.journal.claim_release import ClaimReleaser
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settling.send_payment import SettleTimeouts
from farebox.facilitator.settling.settle import Settler
from farebox.facilitator.settling.shutdown_signal import ShutdownSignal
from farebox.ingress.rate_limiter import RateLimiter
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock, SystemClock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.signers import read_signers
from farebox.storage.database_clock import DatabaseClock
from farebox.storage.faults import StatementRefused
from farebox.storage.pool import Database
from farebox.storage.prune import Pruner
from farebox.web.static_files import StaticFile

_JOURNAL: Final = "settlements"

log = structlog.get_logger(__name__)


class DatabaseComponent:
    """The readiness check of the database.

    A statement that is refused elsewhere raises an alarm and takes no process out of service: what
    one caller can provoke must not do that. Without the journal no payment is possible.
    """

    name = "database"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def health(self) -> ComponentHealth:
        """Check that the database answers, and that the journal can be written."""
        try:
            await self._database.check_grants(_JOURNAL)
        except StatementRefused:
            return ComponentHealth(is_usable=False, reasons=("statement_refused",))
        return ComponentHealth(is_usable=True)


def build_services(settings: Settings) -> Services:
    """Build the service; nothing runs yet.

    Raises:
        BadSigner: a secret seed cannot be used.
        DevelopmentWalletRefused: the console is a demo's, and a node is elsewhere.
        InvalidSkills: a packaged spec of a skill breaks a rule.
        Outage: no database is configured.
    """
    pools = _pools(settings)
    clock = DatabaseClock(pools.money, SystemClock())
    shared = _shared(settings, pools, clock)
    networks = _networks(settings, shared)
    ledgers = {name: each.ledgers for name, each in networks.items()}
    rpc = {name: each.rpc for name, each in networks.items()}
    sign_in_networks = AccountNetworks(rpc, partial(_is_ours, networks), ledgers)
    limiter = RateLimiter(pools.counting, clock)
    accounts = build_accounts(settings, pools, clock, limiter)
    ingress = build_ingress(settings, pools, clock, limiter, accounts.authentication)
    sign_in = build_sign_in(settings, pools, clock, accounts, ingress, sign_in_networks)
    catalog = build_catalog(settings, pools, clock, rpc, ingress, gateway_sales(settings))
    vault = build_vault(settings, pools, clock, limiter)
    automation = build_automation(settings, pools, clock, networks, vault.automation)
    paying = (ingress.payments, catalog.reports)
    facilitator = build_facilitator(shared, pools.reads, networks, *paying)
    settler = facilitator.settler
    needs = GatewayNeeds(networks, settler, ingress, catalog, vault, sign_in_networks.is_ours)
    gateway = build_gateway(settings, pools, clock, needs)
    agents = build_agents(settings, pools, catalog, gateway, rpc)
    wallets = build_wallets(networks, pools.upkeep, clock)
    runs = build_run_payments(settings, pools, clock, networks, automation, settler)
    plans = build_proposing(settings, pools, clock, networks, automation, runs.quotes, limiter)
    lives = build_lifecycle(pools, clock, networks, automation, vault.automation, plans)
    callers = (agents, wallets, build_skills(settings), plans, runs, lives)
    others = (accounts, sign_in, ingress, vault, gateway, *callers)
    features = join_features(facilitator, catalog, *others)
    pruning = _pruning(settings, pools, clock, ledgers)
    return Services(
        endpoints=features.endpoints,
        tasks=[*_loops(clock, networks), *features.tasks, *automation.tasks, pruning],
        parts=[DatabaseComponent(pools.health), *(each.part for each in networks.values())],
        resources=[*pools.entered, clock, *features.resources, *rpc.values(), _drain(settler)],
        protect=ingress.protect,
        around=lambda table: gateway.around(ingress.around(table)),
        trusted_proxies=settings.ingress.trusted_proxies,
        console=_console_files(settings),
        leave=partial(_shut_down, settler, automation, shared, networks),
    )


def _pruning(
    settings: Settings, pools: Pools, clock: Clock, ledgers: Mapping[Network, LedgerClock]
) -> Loop:
    kept = timedelta(days=settings.automation_days)
    rules = [*prune_rules(clock, ledgers), *plan_rules(kept)]
    pruner = Pruner(pools.upkeep, clock, rules)
    return restart_on_failure(Loop("prune", pruner.run), clock)


def _pools(settings: Settings) -> Pools:
    if settings.database_url is None:
        raise Outage("database", "No database is configured: set FAREBOX_DATABASE_URL.")
    return build_pools(settings.database_url, settings.connections)


def _console_files(settings: Settings) -> Mapping[str, StaticFile]:
    console = read_console(settings.console_dir)
    check_console(console, (each.rpc_url.reveal() for each in settings.networks.values()))
    if not console.files:
        log.info("console.absent", folder=str(console.folder))
    return console.files


def _loops(clock: DatabaseClock, networks: Mapping[Network, NetworkServices]) -> list[Loop]:
    of_networks = (loop for each in networks.values() for loop in each.tasks)
    return [Loop("clock", clock.run), *of_networks]


def _shared(settings: Settings, pools: Pools, clock: Clock) -> SharedWiring:
    budgets = {name: own.budgets for name, own in settings.networks.items()}
    journal = SettlementJournal(pools.money, clock, budgets)
    waits = SettleTimeouts(answer_s=settings.settle_deadline_s, channel_s=settings.channel_wait_s)
    returns = ClaimReleaser(journal, clock)
    return SharedWiring(settings, pools.money, clock, journal, returns, waits, ShutdownSignal())


def _is_ours(networks: Mapping[Network, NetworkServices], address: Address) -> bool:
    return any(address in each.operators.addresses for each in networks.values())


def _networks(settings: Settings, shared: SharedWiring) -> dict[Network, NetworkServices]:
    return {
        name: build_network(shared, own, read_signers(own.relayer_secret, own.paymaster_secret))
        for name, own in settings.networks.items()
    }


async def _shut_down(
    settler: Settler,
    automation: AutomationServices,
    shared: SharedWiring,
    networks: Mapping[Network, NetworkServices],
) -> None:
    """Finish settlements and runs in the grace period, then leave them to other processes."""
    grace_s = shared.settings.stop_grace_s
    is_drained, _ = await asyncio.gather(
        settler.drain(within_s=grace_s), automation.close(within_s=grace_s)
    )
    log.info("service.draining", is_drained=is_drained)
    shared.shutdown.set()
    for each in networks.values():
        each.leases.close()
    await settler.drain()


@asynccontextmanager
async def _drain(settler: Settler) -> AsyncIterator[None]:
    """Complete claimed settlements before the database and the nodes are closed."""
    yield
    await settler.drain()
