"""The composition root of the agent interface."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from farebox.app.assembly import Loop
from farebox.app.catalog_services import CatalogServices, build_outbound, own_hosts
from farebox.app.database_pools import Pools
from farebox.app.gateway_services import GatewayServices, gateway_sales, gateway_url
from farebox.app.settings import Settings
from farebox.catalog.discovery.reader_process import ReaderProcess
from farebox.kernel.networks import Network
from farebox.mcp.gateway_call import InProcessGateway
from farebox.mcp.handler import RpcHandler
from farebox.mcp.http import mcp_endpoints
from farebox.mcp.paid_call import CallRoutes, PaidCalls
from farebox.mcp.receipt_check import ReceiptCheck
from farebox.mcp.search_services import SearchServices
from farebox.outbound.local_client import LocalClient
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.web.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class AgentServices:
    """The constructed agent interface; nothing runs yet."""

    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop]
    # entered in this order before the loops start, closed in reverse order after they end
    resources: Sequence[AbstractAsyncContextManager[object]]


def build_agents(
    settings: Settings,
    pools: Pools,
    catalog: CatalogServices,
    gateway: GatewayServices,
    nodes: Mapping[Network, SorobanRpc],
) -> AgentServices:
    """Build `/mcp`; its calls share neither client nor reader with the rest of the service."""
    most = settings.outbound.agent_calls
    outbound = build_outbound(settings.outbound, max_calls=most, own_hosts=own_hosts(settings))
    reader = ReaderProcess(is_local_allowed=settings.lists_local_urls)
    routes = CallRoutes(
        gateway=InProcessGateway(gateway.endpoint),
        is_own=gateway_sales(settings).is_own,
        outbound=outbound,
        local=LocalClient() if settings.lists_local_urls else None,
    )
    calls = PaidCalls(
        pools.callers,
        reader,
        routes,
        ReceiptCheck(nodes),
        max_calls=most,
    )
    handler = RpcHandler(SearchServices(catalog.search), calls)
    return AgentServices(
        endpoints=mcp_endpoints(handler, origin=gateway_url(settings).origin),
        tasks=(),
        resources=[outbound, reader, _closed_at_end(calls)],
    )


@asynccontextmanager
async def _closed_at_end(calls: PaidCalls) -> AsyncIterator[None]:
    yield
    await calls.close()
