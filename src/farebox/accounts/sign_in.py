"""Sign in with a wallet: a challenge, its signature, and one session for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from farebox.accounts import challenge_store, session_store
from farebox.accounts.challenge_store import OpenChallenge
from farebox.accounts.login import (
    ChallengeNotOpen,
    ContractLoginUnavailable,
    Issued,
    Login,
    Proof,
    Shown,
    SignInUnavailable,
)
from farebox.accounts.session import ID_KIND, LIFE, MOST_LIVE, NewSession, User
from farebox.accounts.token import TokenForm, new_token
from farebox.audit.audit_store import write_deed
from farebox.audit.trail import Action, Deed
from farebox.kernel.addresses import Address, is_account, parse_party
from farebox.kernel.caller import Caller, CallerKind, user_id
from farebox.kernel.errors import Refusal, TooManyRequests
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network, parse_network
from farebox.storage.pool import Database

MOST_OPEN: Final = 50  # challenges of one account; another one closes the oldest
MOST_TRIES: Final = 64  # of one challenge: each is a question to the network
_TOO_OFTEN: Final = "Too many challenges were asked for from here."
_MUXED_LENGTH: Final = 69


class Turns(Protocol):
    """So many challenges a minute for each client address."""

    async def take(self, who: str) -> int | None:
        """A turn is taken (None), or the seconds until there is one, at least 1."""
        ...


class BadSignIn(Refusal):
    """What is asked for cannot be: the code says what."""


class AccountNotAllowed(Refusal):
    """An account of the operator's: it signs for the service and is nobody's wallet."""

    def __init__(self) -> None:
        super().__init__("account_not_allowed", "An account of the service cannot sign in to it.")


@dataclass(frozen=True, slots=True)
class NetworkLogins:
    """How accounts prove themselves on one network; contracts cannot where none stands for them."""

    wallets: Login
    contracts: Login | None = None
    web_auth_contract: Address | None = None  # the one `contracts` goes by


@dataclass(frozen=True, slots=True)
class SignInSetup:
    """What the operator has set up: the domain wallets know, who signs challenges, and how."""

    domain: str
    server: Address
    logins: Mapping[Network, NetworkLogins]

    @property
    def contracts(self) -> dict[Network, Address | None]:
        """The web-auth contract of each network, or that it has none."""
        return {network: each.web_auth_contract for network, each in self.logins.items()}


@dataclass(frozen=True, slots=True)
class NewChallenge:
    """A challenge that is open now."""

    network: Network
    issued: Issued
    domain: str
    server: Address


@dataclass(frozen=True, slots=True)
class Asked:
    """Who wants to sign in, where, and from where; as it was said."""

    network: str
    address: str
    client: str  # the client address, as limits count it
    home_domain: str | None = None
    memo: str | int | None = None


class SignIn:
    """Every replica may issue and every other one verify: what is open is in the database.

    Without a `setup` nobody can sign in. `turns` counts the challenges of each client address;
    `is_ours` tells the operator's accounts.
    """

    def __init__(
        self,
        database: Database,
        setup: SignInSetup | None,
        turns: Turns,
        *,
        is_ours: Callable[[Address], bool],
    ) -> None:
        self._database, self.setup, self._turns = database, setup, turns
        self._is_ours = is_ours

    async def challenge(self, asked: Asked) -> NewChallenge:
        """A challenge for the account, open for five minutes at most.

        Raises:
            Refusal: there is none for it.
            Outage: it could not be made or kept.
        """
        setup = self._set_up()
        network = _network(setup, asked.network)
        if asked.home_domain not in (None, setup.domain):
            raise BadSignIn("unknown_home_domain", f"The home domain here is {setup.domain}.")
        address = _address(asked)
        if address == setup.server or self._is_ours(address):
            raise AccountNotAllowed
        proof = Proof.TRANSACTION if is_account(address) else Proof.ENTRIES
        login = _login(setup.logins[network], proof)
        wait_s = await self._turns.take(asked.client)
        if wait_s is not None:
            raise TooManyRequests(_TOO_OFTEN, retry_after_s=wait_s)
        issued = await login.issue(address)
        kept = OpenChallenge(issued.digest, network, address, issued.expires_at)
        async with self._database.transaction() as db:
            await challenge_store.put_challenge(db, kept)
            await challenge_store.close_oldest(db, network, address, most=MOST_OPEN)
        return NewChallenge(network, issued, setup.domain, setup.server)

    async def finish(
        self,
        network_name: str,
        proof: Proof,
        document: str,
        *,
        claimed: str | None,
        request_id: str,
    ) -> NewSession:
        """A session for whoever signed the challenge; the challenge is used up with it.

        `claimed` is the account the caller says it is, which must be the challenge's.

        Raises:
            Refusal: it is no challenge, none that is open, or not signed by the account.
            Outage: nothing has changed, as far as anybody knows.
        """
        setup = self._set_up()
        network = _network(setup, network_name)
        shown = _login(setup.logins[network], proof).read(document)
        if claimed is not None and claimed != shown.address:
            raise ChallengeNotOpen
        async with self._database.connection() as db:
            is_open = await challenge_store.try_challenge(
                db, shown.digest, network, shown.address, most=MOST_TRIES
            )
        if not is_open:
            raise ChallengeNotOpen
        await shown.prove()
        return await self._begin(network, shown, request_id)

    async def _begin(self, network: Network, shown: Shown, request_id: str) -> NewSession:
        """The challenge is consumed and the session there, or neither; the oldest of many ends."""
        user = User(user_id(network, shown.address), network, shown.address)
        token, session_id = new_token(TokenForm.SESSION), new_id(ID_KIND)
        caller = Caller(
            user.id,
            CallerKind.SESSION,
            network=network,
            address=user.address,
            session_id=session_id,
        )
        async with self._database.transaction() as db:
            if not await challenge_store.consume_challenge(
                db, shown.digest, network, shown.address
            ):
                raise ChallengeNotOpen
            await session_store.put_user(db, user)
            ends_at = await session_store.put_session(
                db, session_id, digest=token.digest, user=user.id, life=LIFE
            )
            ended = await session_store.end_oldest(
                db, user.id, besides=session_id, most=MOST_LIVE - 1
            )
            await write_deed(db, Deed(caller, Action.SIGNED_IN, session_id, request_id))
            for old in ended:
                await write_deed(db, Deed(caller, Action.SIGNED_OUT, old, request_id))
        return NewSession(session_id, token.shown, user, ends_at)

    def _set_up(self) -> SignInSetup:
        if self.setup is None:
            raise SignInUnavailable
        return self.setup


def _network(setup: SignInSetup, name: str) -> Network:
    network = parse_network(name)
    if network is None or network not in setup.logins:
        raise BadSignIn("unsupported_network", "The network is not served here.")
    return network


def _login(logins: NetworkLogins, proof: Proof) -> Login:
    if proof is Proof.TRANSACTION:
        return logins.wallets
    if logins.contracts is None:
        raise ContractLoginUnavailable
    return logins.contracts


def _address(asked: Asked) -> Address:
    text = asked.address
    if asked.memo is not None:
        words = "Sign in without a memo: who shares an account shares its user."
        raise BadSignIn("memo_unsupported", words)
    if text.startswith("M") and len(text) == _MUXED_LENGTH:
        words = "Sign in with the account itself (G…): a muxed address (M…) has no user of its own."
        raise BadSignIn("muxed_account_unsupported", words)
    address = parse_party(text)
    if address is None:
        raise BadSignIn("invalid_address", "The address is not that of an account or a contract.")
    return address
