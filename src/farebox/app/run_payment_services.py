"""The composition root of payments for the runs of plans."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import structlog

from farebox.app.assembly import Loop
from farebox.app.automation_services import AutomationServices
from farebox.app.database_pools import Pools
from farebox.app.gateway_services import gateway_url
from farebox.app.lifespan import restart_on_failure
from farebox.app.network_services import NetworkServices
from farebox.app.proposing_services import build_run_fees
from farebox.app.settings import NetworkSettings, Settings
from farebox.automation.credits.end_payment import RunPaymentEnds
from farebox.automation.credits.pay_for_runs import RunPayments
from farebox.automation.credits.payments_http import run_payment_endpoints
from farebox.automation.credits.quotes import RunQuotes
from farebox.automation.credits.reconcile_payments import RunPaymentReconciler
from farebox.automation.credits.run_payment import RunSale, make_sale
from farebox.automation.paymaster import channel_store
from farebox.automation.plans.quote import PriceList
from farebox.facilitator.channels import store
from farebox.facilitator.settling.settle import Settler
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.errors import CommandRefused
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import usdc_contract
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from farebox.web.endpoint import Endpoint

_CHANNELS: Final = (store, channel_store)  # of settlement, and of automation

log = structlog.get_logger(__name__)


class RevenueAccountRefused(CommandRefused):
    """Runs would be paid to a channel account of the operator."""

    def __init__(self, network: Network) -> None:
        name = f"FAREBOX_REVENUE_ACCOUNT_{network.name}"
        super().__init__(
            f"{name} is a channel account of the operator: name an account of its own."
        )


class RevenueAccountCheck:
    """Refuses the start where a revenue account is a channel; entered before the loops start."""

    def __init__(
        self, database: Database, clock: Clock, revenue: Mapping[Network, Address]
    ) -> None:
        self._database, self._clock, self._revenue = database, clock, revenue

    async def __aenter__(self) -> Self:
        try:
            for network, account in self._revenue.items():
                if account in await self._channels(network):
                    raise RevenueAccountRefused(network)
        except DatabaseUnavailable:  # no payment to such an account is settled in any case
            log.warning("automation.revenue_account_not_checked")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    async def _channels(self, network: Network) -> set[Address]:
        async with self._database.connection() as db:
            now = self._clock.now()
            tables = [await each.list_channels(db, network, now=now) for each in _CHANNELS]
        return {channel.address for table in tables for channel in table}


@dataclass(frozen=True, slots=True)
class RunPaymentServices:
    """The constructed payments for runs; nothing runs yet."""

    quotes: RunQuotes
    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop]
    # entered before the loops start, closed after they end
    resources: Sequence[AbstractAsyncContextManager[object]]


def build_run_payments(
    settings: Settings,
    pools: Pools,
    clock: Clock,
    services: Mapping[Network, NetworkServices],
    automation: AutomationServices,
    settler: Settler,
) -> RunPaymentServices:
    """Build the quotes, the routes and the loop of payments for runs."""
    sales = {name: _sale(name, settings.networks[name]) for name in automation.networks}
    quotes = RunQuotes(pools.accounts, sales)

    def is_available(network: Network) -> bool:
        own = automation.networks.get(network)
        return own is not None and own.watch.is_available

    fees = build_run_fees(settings, pools, services, automation, quotes.is_free)
    payments = RunPayments(pools.money, quotes, settler, clock, fees, is_available=is_available)
    origin = gateway_url(settings).origin
    ends = RunPaymentEnds(pools.background, clock)
    reconciler = RunPaymentReconciler(pools.background, ends, clock)
    revenue = {
        name: own.revenue_account
        for name, own in settings.networks.items()
        if own.revenue_account is not None
    }
    return RunPaymentServices(
        quotes,
        endpoints=run_payment_endpoints(payments, pools.accounts, clock, origin),
        tasks=[restart_on_failure(Loop("payments for runs", reconciler.run), clock)],
        resources=[RevenueAccountCheck(pools.background, clock, revenue)],
    )


def _sale(network: Network, own: NetworkSettings) -> RunSale:
    prices = PriceList(
        asset=own.run_asset or usdc_contract(network),
        floor_per_run=own.run_price,
        setup=own.run_setup_price,
        units_per_xlm=own.run_units_per_xlm,
    )
    return make_sale(prices, own.revenue_account)
