"""The composition root of sign-in."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import Scope

from farebox.accounts.contract_challenge import WebAuthContract, WebAuthDomain
from farebox.accounts.contract_web_auth import ContractWebAuth
from farebox.accounts.sessions import Sessions
from farebox.accounts.sign_in import (
    MAX_OPEN,
    MAX_OPEN_PER_CLIENT,
    NetworkWebAuth,
    SignIn,
    SignInSetup,
)
from farebox.accounts.sign_in_http import SignInEdge, sign_in_endpoints
from farebox.accounts.signed_challenge import ChallengeTerms
from farebox.accounts.stellar_toml import ServiceAddress
from farebox.accounts.web_auth_http import web_auth_endpoints
from farebox.app.account_services import AccountServices
from farebox.app.assembly import Loop
from farebox.app.database_pools import Pools
from farebox.app.ingress_services import IngressServices
from farebox.app.lifespan import restart_on_failure
from farebox.app.settings import Settings
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.signers import read_signers
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.web.client_address import client_of, site_name
from farebox.web.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class AccountNetworks:
    """The networks as sign-in uses them; `is_ours` recognizes the operator's accounts."""

    nodes: Mapping[Network, SorobanRpc]
    is_ours: Callable[[Address], bool]
    ledgers: Mapping[Network, LedgerClock]


@dataclass(frozen=True, slots=True)
class SignInServices:
    """The constructed sign-in; nothing runs yet."""

    endpoints: Sequence[Endpoint]
    tasks: Sequence[Loop]
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_sign_in(
    settings: Settings,
    pools: Pools,
    clock: Clock,
    accounts: AccountServices,
    ingress: IngressServices,
    networks: AccountNetworks,
) -> SignInServices:
    """Build the routes of sign-in, and the loop that deletes expired challenges and sessions."""
    address = _service_address(settings)
    sessions = Sessions(pools.accounts, clock)
    sign_in = SignIn(
        pools.accounts,
        _setup(settings, address, clock, networks),
        ingress.quota("challenge", per_minute=settings.sign_in.challenges_per_minute),
        is_ours=networks.is_ours,
        clock=clock,
        # without a rate limit there is no limit on open challenges either
        max_open=MAX_OPEN_PER_CLIENT if settings.sign_in.challenges_per_minute else MAX_OPEN,
    )
    origin = settings.sign_in.public_url
    edge = SignInEdge(sign_in, sessions, _client_of, origin)
    return SignInServices(
        endpoints=[*sign_in_endpoints(edge), *web_auth_endpoints(edge, address, networks.nodes)],
        tasks=[restart_on_failure(Loop("sessions", sessions.run), clock)],
    )


def _service_address(settings: Settings) -> ServiceAddress:
    url = settings.sign_in.public_url
    return ServiceAddress(settings.host if url is None else urlsplit(url).hostname or "", url)


def _setup(
    settings: Settings, address: ServiceAddress, clock: Clock, networks: AccountNetworks
) -> SignInSetup | None:
    secret = settings.sign_in.signing_secret
    if secret is None:
        return None
    # it imports the Stellar SDK, which takes a second: only where sign-in is configured
    from farebox.accounts.account_web_auth import AccountWebAuth

    signer = read_signers(secret, None).relayer
    domain = WebAuthDomain(address.domain, address.domain, signer)
    schemes = {}
    for network, rpc in networks.nodes.items():
        terms = ChallengeTerms(network, signer.address, address.domain)
        contract = settings.networks[network].web_auth_contract
        contracts = (
            ContractWebAuth(
                domain, WebAuthContract(network, contract), rpc, networks.ledgers[network], clock
            )
            if contract is not None
            else None
        )
        accounts = AccountWebAuth(terms, secret, rpc, clock)
        schemes[network] = NetworkWebAuth(accounts, contracts, contract)
    return SignInSetup(address.domain, signer.address, schemes)


def _client_of(scope: Scope) -> str:
    return site_name(client_of(scope))
