"""The composition root of the paid gateway."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import version

from starlette.types import ASGIApp

from farebox.app.assembly import Loop
from farebox.app.catalog_services import CatalogServices, build_outbound, own_hosts
from farebox.app.database_pools import Pools
from farebox.app.ingress_services import IngressServices
from farebox.app.lifespan import restart_on_failure
from farebox.app.network_services import NetworkServices
from farebox.app.settings import Settings
from farebox.app.vault_services import VaultServices
from farebox.catalog.discovery.canonical_url import CanonicalUrl, read_url
from farebox.catalog.ingestion.ingest import PLACES
from farebox.facilitator.settling.settle import Settler
from farebox.gateway.analytics.analytics_http import analytics_endpoints
from farebox.gateway.analytics.read_analytics import Analytics
from farebox.gateway.analytics.request_recorder import RequestRecorder
from farebox.gateway.delivery.deliver import Deliverer
from farebox.gateway.delivery.keep_response import ResponseKeeper
from farebox.gateway.delivery.pay import Payer
from farebox.gateway.delivery.reconcile import GatewayReconciler
from farebox.gateway.delivery.sales import OwnSales
from farebox.gateway.http import GatewayBeforeRoutes, GatewayEndpoint
from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.origin.documents_http import origin_endpoints
from farebox.gateway.origin.serve_documents import OriginDocuments
from farebox.gateway.past_purchases import PastPurchases
from farebox.gateway.payments.find_payments import Payments
from farebox.gateway.payments.payments_http import payment_endpoints
from farebox.gateway.payments.refund import Refunds
from farebox.gateway.relay.breaker import UpstreamBreaker
from farebox.gateway.relay.received_body import BodySpool
from farebox.gateway.relay.relay import Relay, UpstreamSlots
from farebox.gateway.respond import GatewayParts
from farebox.gateway.upstream_credentials import UpstreamCredentials
from farebox.gateway.wrappers.check_wrapper import WrapperCheck
from farebox.gateway.wrappers.checks import NetworkChecks, PaymentNetwork
from farebox.gateway.wrappers.enabled_wrappers import EnabledWrappers
from farebox.gateway.wrappers.listings import CatalogListings
from farebox.gateway.wrappers.manage_wrappers import Wrappers
from farebox.gateway.wrappers.wrappers_http import wrapper_endpoints
from farebox.ingress.rate_limiter import ActionQuota, change_limit
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.outbound.client import OutboundClient
from farebox.web.endpoint import Endpoint, RateClass


@dataclass(frozen=True, slots=True)
class GatewayNeeds:
    """The parts of other features that the gateway uses."""

    networks: Mapping[Network, NetworkServices]
    settler: Settler
    ingress: IngressServices
    catalog: CatalogServices
    vault: VaultServices
    is_ours: Callable[[Address], bool]  # recognizes the operator's accounts


@dataclass(frozen=True, slots=True)
class GatewayServices:
    """The constructed gateway; nothing runs yet."""

    endpoint: ASGIApp
    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop]
    # entered in this order before the loops start, closed in reverse order after they end
    resources: Sequence[AbstractAsyncContextManager[object]]

    def around(self, routes: ASGIApp) -> ASGIApp:
        """Put the gateway before the routes."""
        return GatewayBeforeRoutes(self.endpoint, routes)


def gateway_url(settings: Settings) -> GatewayUrl:
    """Return the public URL of the gateway; without a configured one, that of this machine."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return GatewayUrl(settings.sign_in.public_url or f"http://{host}:{settings.port}")


def gateway_sales(settings: Settings) -> OwnSales:
    """Build what tells the gateway's URLs and payments from all others."""
    return OwnSales(gateway_url(settings), other_hosts=own_hosts(settings))


def is_listable(settings: Settings, url: GatewayUrl) -> bool:
    """Whether the catalog lists URLs of the gateway."""
    return isinstance(
        read_url(url.origin, is_local_allowed=settings.lists_local_urls), CanonicalUrl
    )


def build_gateway(
    settings: Settings, pools: Pools, clock: Clock, needs: GatewayNeeds
) -> GatewayServices:
    """Build the gateway, the routes of wrappers, and the loops of payments and records."""
    url, calls = gateway_url(settings), settings.outbound.gateway_calls
    upstreams = build_outbound(settings.outbound, max_calls=calls, own_hosts=own_hosts(settings))
    checking = build_outbound(settings.outbound, own_hosts=own_hosts(settings))
    recorder = RequestRecorder(pools.upkeep, clock)
    relay = Relay(upstreams, UpstreamSlots(calls), UpstreamBreaker(), clock)
    keeper = ResponseKeeper(pools.money, needs.vault.responses)
    payer, spool = Payer(pools.money, needs.settler, keeper, clock), BodySpool()
    parts = GatewayParts(
        wrappers=EnabledWrappers(pools.callers, clock),
        credentials=UpstreamCredentials(needs.vault.reader),
        settler=needs.settler,
        payer=payer,
        relay=relay,
        deliverer=Deliverer(pools.money, relay, keeper, clock),
        past=PastPurchases(needs.settler, payer, url, spool),
        spool=spool,
        url=url,
    )
    count = needs.ingress.count(RateClass.GATEWAY)
    reconciler = GatewayReconciler(pools.background, clock)
    return GatewayServices(
        GatewayEndpoint(parts, recorder, clock, count),
        endpoints=_endpoints(settings, pools, clock, needs, checking),
        tasks=[
            restart_on_failure(Loop("gateway payments", reconciler.run), clock),
            restart_on_failure(Loop("gateway requests", recorder.run), clock),
        ],
        resources=[upstreams, checking, recorder.written_at_end()],
    )


def _endpoints(
    settings: Settings, pools: Pools, clock: Clock, needs: GatewayNeeds, checking: OutboundClient
) -> list[Endpoint]:
    url, nodes = gateway_url(settings), {name: each.rpc for name, each in needs.networks.items()}
    networks = {
        name: PaymentNetwork(
            each.rpc, each.simulations, settings.networks[name].assets, needs.is_ours
        )
        for name, each in needs.networks.items()
    }
    checks = NetworkChecks(checking, networks)
    wrappers = _wrappers(settings, pools, clock, needs, checks)
    check = WrapperCheck(checking, checks, UpstreamCredentials(needs.vault.reader), url, clock)
    payments = Payments(pools.accounts)
    documents = OriginDocuments(
        pools.searching, clock, url, version("farebox"), contact=settings.contact
    )
    return [
        *wrapper_endpoints(wrappers, check, url),
        *analytics_endpoints(Analytics(pools.accounts, clock), wrappers),
        *payment_endpoints(payments, Refunds(pools.accounts, payments, nodes)),
        *origin_endpoints(documents),
    ]


def _wrappers(
    settings: Settings, pools: Pools, clock: Clock, needs: GatewayNeeds, checks: NetworkChecks
) -> Wrappers:
    url = gateway_url(settings)
    listings = CatalogListings(
        needs.catalog.index,
        needs.catalog.reader,
        clock,
        url,
        places=PLACES,
        is_listed=is_listable(settings, url),
    )
    changes = ActionQuota(needs.ingress.limiter, change_limit(settings.ingress.changes_per_minute))
    return Wrappers(pools.accounts, checks, listings, changes)
