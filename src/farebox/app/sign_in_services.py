"""The composition root of signing in: constructors only, top to bottom."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.routing import Route
from starlette.types import Scope

from farebox.accounts.contract_challenge import Domain, Ground
from farebox.accounts.contract_sign_in import ContractSignIn
from farebox.accounts.public_place import PublicPlace
from farebox.accounts.sessions import Sessions
from farebox.accounts.sign_in import NetworkLogins, SignIn, SignInSetup
from farebox.accounts.sign_in_http import SignInEdge, sign_in_routes
from farebox.accounts.signed_challenge import ChallengeTerms
from farebox.accounts.web_auth_http import web_auth_routes
from farebox.app.assembly import Loop
from farebox.app.settings import Settings
from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.stellar.ledger_clock import LedgerClock
from farebox.stellar.rpc import SorobanRpc
from farebox.stellar.signers import read_signers
from farebox.storage.pool import Database
from farebox.web.client_address import client_name, client_of
from farebox.web.guard import Authenticates


@dataclass(frozen=True, slots=True)
class AccountNetworks:
    """What accounts know of the networks: their nodes, and which accounts are the operator's."""

    nodes: Mapping[Network, SorobanRpc]
    is_ours: Callable[[Address], bool]
    ledgers: Mapping[Network, LedgerClock]


def build_sign_in(
    settings: Settings,
    database: Database,
    clock: Clock,
    authenticates: Authenticates,
    networks: AccountNetworks,
) -> tuple[list[Route], Loop]:
    """The routes by which wallets sign in and out, and the loop that forgets what is over."""
    place = _place(settings)
    sessions = Sessions(database, clock)
    sign_in = SignIn(
        database,
        _setup(settings, place, clock, networks),
        is_ours=networks.is_ours,
        per_minute=settings.sign_in.challenges_per_minute,
    )
    edge = SignInEdge(sign_in, sessions, authenticates, _client_of, settings.sign_in.public_url)
    routes = [*sign_in_routes(edge), *web_auth_routes(edge, place, networks.nodes)]
    return routes, Loop("sessions", sessions.run)


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
