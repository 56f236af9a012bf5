"""The composition root of signing in: constructors only, top to bottom."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.routing import BaseRoute
from starlette.types import Scope

from farebox.accounts.contract_challenge import Domain, Ground
from farebox.accounts.contract_sign_in import ContractSignIn
from farebox.accounts.public_place import PublicPlace
from farebox.accounts.sessions import Sessions
from farebox.accounts.sign_in import NetworkLogins, SignIn, SignInSetup
from farebox.accounts.sign_in_http import SignInEdge, session_routes, sign_in_routes
from farebox.accounts.signed_challenge import ChallengeTerms
from farebox.accounts.web_auth_http import web_auth_routes
from farebox.app.account_services import AccountServices
from farebox.app.assembly import Loop
from farebox.app.ingress_services import IngressServices
from farebox.app.restarted_loop import restarted
from farebox.app.settings import Settings
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.rpc import SorobanRpc
from farebox.stellar.signers import read_signers
from farebox.web.client_address import client_name, client_of


@dataclass(frozen=True, slots=True)
class AccountNetworks:
    """What accounts know of the networks: their nodes, and which accounts are the operator's."""

    nodes: Mapping[Network, SorobanRpc]
    is_ours: Callable[[Address], bool]
    ledgers: Mapping[Network, LedgerClock]


@dataclass(frozen=True, slots=True)
class SignInServices:
    """Signing in as constructed, nothing of it running yet."""

    routes: Sequence[BaseRoute]
    tasks: Sequence[Loop]
    resources: Sequence[AbstractAsyncContextManager[object]] = ()


def build_sign_in(
    settings: Settings,
    clock: Clock,
    accounts: AccountServices,
    ingress: IngressServices,
    networks: AccountNetworks,
) -> SignInServices:
    """The routes by which wallets sign in and out, and the loop that forgets what is over."""
    place = _place(settings)
    sessions = Sessions(accounts.database, clock)
    sign_in = SignIn(
        accounts.database,
        _setup(settings, place, clock, networks),
        ingress.turns("challenge", most=settings.sign_in.challenges_per_minute),
        is_ours=networks.is_ours,
    )
    origin = settings.sign_in.public_url
    edge = SignInEdge(sign_in, sessions, accounts.authenticates, _client_of, origin)
    anybodys = [*sign_in_routes(edge), *web_auth_routes(edge, place, networks.nodes)]
    return SignInServices(
        routes=[*anybodys, *session_routes(edge)],
        tasks=[restarted(Loop("sessions", sessions.run), clock)],
    )


def _place(settings: Settings) -> PublicPlace:
    url = settings.sign_in.public_url
    return PublicPlace(settings.host if url is None else urlsplit(url).hostname or "", url)


def _setup(
    settings: Settings, place: PublicPlace, clock: Clock, networks: AccountNetworks
) -> SignInSetup | None:
    secret = settings.sign_in.signing_secret
    if secret is None:
        return None
    # it knows the public SDK, which takes a second to load: only where somebody can sign in
    from farebox.accounts.wallet_login import WalletLogin

    signer = read_signers(secret, None).relayer
    domain = Domain(place.domain, place.domain, signer)
    logins = {}
    for network, rpc in networks.nodes.items():
        terms = ChallengeTerms(network, signer.address, place.domain)
        contract = settings.networks[network].web_auth_contract
        contracts = (
            ContractSignIn(domain, Ground(network, contract), rpc, networks.ledgers[network], clock)
            if contract is not None
            else None
        )
        wallets = WalletLogin(terms, secret, rpc, clock)
        logins[network] = NetworkLogins(wallets, contracts, contract)
    return SignInSetup(place.domain, signer.address, logins)


def _client_of(scope: Scope) -> str:
    return client_name(client_of(scope))
