"""The composition root: constructors only, top to bottom."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

import structlog

from farebox.app.account_services import build_accounts
from farebox.app.assembly import Loop, Services, joined
from farebox.app.catalog_services import build_catalog
from farebox.app.facilitator_services import build_facilitator
from farebox.app.health import PartHealth
from farebox.app.ingress_services import build_ingress
from farebox.app.network_services import NetworkServices, Shared, build_network
from farebox.app.operations import operations
from farebox.app.settings import Settings
from farebox.app.sign_in_services import AccountNetworks, build_sign_in
from farebox.app.vault_services import build_vault
from farebox.facilitator.channels.operators import Operators
from farebox.facilitator.http import failure_bodies
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settling.departure import Departure
from farebox.facilitator.settling.send_payment import Waits
from farebox.facilitator.settling.settle import Settler
from farebox.kernel.addresses import Address
from farebox.kernel.clock import SystemClock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.stellar.signers import read_signers
from farebox.storage.database_clock import DatabaseClock
from farebox.storage.pool import Database

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
    budgets = {name: own.budgets for name, own in settings.networks.items()}
    journal = SettlementJournal(database, clock, budgets)
    waits = Waits(answer_s=settings.settle_deadline_s, turn_s=settings.channel_wait_s)
    departure = Departure()
    shared = Shared(settings, database, clock, journal, waits, departure)
    networks = _networks(settings, shared)
    operators = {name: each.operators for name, each in networks.items()}
    ledgers = {name: each.ledgers for name, each in networks.items()}
    rpc = {name: each.rpc for name, each in networks.items()}
    known = AccountNetworks(rpc, partial(_is_ours, operators), ledgers)
    accounts = build_accounts(settings, settings.database_url, clock)
    ingress = build_ingress(settings, settings.database_url, clock, accounts.authenticates)
    sign_in = build_sign_in(settings, clock, accounts, ingress, known)
    catalog = build_catalog(settings, settings.database_url, clock, rpc, ingress)
    vault = build_vault(settings, accounts.database, clock, accounts.authenticates)
    facilitator = build_facilitator(shared, networks, ingress.facilitator, catalog.reports)
    settler = facilitator.settler
    features = joined(facilitator, catalog, accounts, sign_in, ingress, vault)
    return Services(
        routes=ingress.limited(features.routes),
        operations=operations(settings.networks),
        tasks=[
            Loop("clock", clock.run),
            *(loop for each in networks.values() for loop in each.tasks),
            *features.tasks,
        ],
        parts=[DatabasePart(database), *(each.part for each in networks.values())],
        resources=[database, clock, *features.resources, *rpc.values(), _drained(settler)],
        around=ingress.around,
        failure_bodies=failure_bodies(),
        trusted_proxies=settings.ingress.trusted_proxies,
        leave=partial(_leave, settler, departure, networks, settings.stop_grace_s),
    )


def _is_ours(operators: Mapping[Network, Operators], address: Address) -> bool:
    return any(address in each.addresses for each in operators.values())


def _networks(settings: Settings, shared: Shared) -> dict[Network, NetworkServices]:
    return {
        name: build_network(shared, own, read_signers(own.relayer_secret, own.paymaster_secret))
        for name, own in settings.networks.items()
    }


async def _leave(
    settler: Settler,
    departure: Departure,
    networks: Mapping[Network, NetworkServices],
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
