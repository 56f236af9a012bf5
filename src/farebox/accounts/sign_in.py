"""Sign in with a wallet: issue a challenge, verify its signatures, create a session."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from farebox.accounts import challenge_store, session_store
from farebox.accounts.challenge_store import OpenChallenge
from farebox.accounts.session import ID_KIND, LIFE, MAX_LIVE, NewSession, User
from farebox.accounts.token import TokenType, new_token
from farebox.accounts.web_auth_scheme import (
    ChallengeNotOpen,
    ContractSignInUnavailable,
    DocumentKind,
    IssuedChallenge,
    ReturnedChallenge,
    SignInUnavailable,
    WebAuthScheme,
)
from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.kernel.addresses import Address, is_account, parse_party
from farebox.kernel.caller import Caller, CallerKind, user_id
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal, TooManyRequests
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network, parse_network
from farebox.kernel.quota import Quota
from farebox.storage.pool import Database

MAX_OPEN_PER_CLIENT: Final = 100  # open challenges of one client address
MAX_OPEN: Final = 100_000  # open challenges in all
_COUNT_LIFE_S: Final = 1.0  # how long the counted number of open challenges is used
MAX_ATTEMPTS: Final = 64  # to verify one challenge: each calls the network
_TOO_OFTEN: Final = "This client address requested too many challenges."
_TOO_MANY: Final = "Too many challenges are open: finish signing in, or wait until they expire."
_RETRY_S: Final = 30
_MUXED_LENGTH: Final = 69


class InvalidSignIn(Refusal):
    """A member of the sign-in request is invalid; the code names it."""


class AccountNotAllowed(Refusal):
    """The account belongs to the operator and cannot sign in."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.ACCOUNT_NOT_ALLOWED)


@dataclass(frozen=True, slots=True)
class NetworkWebAuth:
    """The schemes of one network; without `contracts`, contract accounts cannot sign in."""

    accounts: WebAuthScheme
    contracts: WebAuthScheme | None = None
    web_auth_contract: Address | None = None  # used by `contracts`


@dataclass(frozen=True, slots=True)
class SignInSetup:
    """The operator's sign-in configuration: domain, signing account and schemes."""

    domain: str
    server: Address  # the account that signs challenges
    schemes: Mapping[Network, NetworkWebAuth]

    @property
    def contracts(self) -> dict[Network, Address | None]:
        """The web-auth contract of each network, None where it has none."""
        return {network: each.web_auth_contract for network, each in self.schemes.items()}


@dataclass(frozen=True, slots=True)
class NewChallenge:
    """A stored challenge, as it is sent to the wallet."""

    network: Network
    issued: IssuedChallenge
    domain: str
    server: Address


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """An unvalidated request for a challenge."""

    network: str
    address: str
    client: str  # the client address that limits count
    home_domain: str | None = None
    memo: str | int | None = None


class SignIn:
    """The use cases of signing in; open challenges are shared by all replicas in the database.

    Without a `setup` every sign-in is refused. `quota` counts the challenges of each client
    address, and `max_open` limits its open ones. `is_ours` recognizes the operator's accounts.
    """

    def __init__(
        self,
        database: Database,
        setup: SignInSetup | None,
        quota: Quota,
        *,
        is_ours: Callable[[Address], bool],
        clock: Clock,
        max_open: int = MAX_OPEN_PER_CLIENT,
    ) -> None:
        self._database, self.setup, self._quota = database, setup, quota
        self._is_ours, self._clock, self._max_open = is_ours, clock, max_open
        self._open_count, self._counted_at = 0, -math.inf

    async def challenge(self, attempt: SignInAttempt) -> NewChallenge:
        """Issue and store a challenge for the account.

        Raises:
            Refusal: the request is invalid, or a limit is reached.
            Outage: the network or the database is unavailable.
        """
        setup = self._require_setup()
        network = _network(setup, attempt.network)
        if attempt.home_domain not in (None, setup.domain):
            raise InvalidSignIn(
                ErrorCode.UNKNOWN_HOME_DOMAIN, f"The home domain here is {setup.domain}."
            )
        address = _address(attempt)
        if address == setup.server or self._is_ours(address):
            raise AccountNotAllowed
        kind = DocumentKind.TRANSACTION if is_account(address) else DocumentKind.ENTRIES
        scheme = _scheme(setup.schemes[network], kind)
        wait_s = await self._quota.acquire(attempt.client)
        if wait_s is not None:
            raise TooManyRequests(_TOO_OFTEN, retry_after_s=wait_s)
        issued = await scheme.issue(address)
        challenge = OpenChallenge(issued.digest, network, address, issued.expires_at)
        await self._store(challenge, attempt.client)
        return NewChallenge(network, issued, setup.domain, setup.server)

    async def _store(self, challenge: OpenChallenge, client: str) -> None:
        """Store the challenge.

        The limit is per client address: with one per account, strangers could lock the account out.

        Raises:
            TooManyRequests: too many challenges are open, of the client address or in all.
        """
        async with self._database.connection() as db:
            now = self._clock.monotonic()
            if now >= self._counted_at + _COUNT_LIFE_S:
                self._counted_at = now
                self._open_count = await challenge_store.count_open(db, most=MAX_OPEN)
            if self._open_count >= MAX_OPEN:
                raise TooManyRequests(_TOO_MANY, retry_after_s=_RETRY_S)
            if not await challenge_store.put_challenge(db, challenge, client, most=self._max_open):
                wait = await challenge_store.wait_for_client(db, client)
                wait_s = max(1, math.ceil(wait.total_seconds()))
                raise TooManyRequests(_TOO_MANY, retry_after_s=wait_s)
        self._open_count += 1

    async def finish(
        self,
        network_name: str,
        kind: DocumentKind,
        document: str,
        *,
        claimed: str | None,
        request_id: str,
    ) -> NewSession:
        """Verify a signed challenge, consume it and create a session.

        `claimed` is the account that the caller names, which must be the challenge's.

        Raises:
            Refusal: it is not an open challenge, or the account has not signed it.
            Outage: the network or the database is unavailable; if the commit failed, the challenge
                may be consumed.
        """
        setup = self._require_setup()
        network = _network(setup, network_name)
        challenge = _scheme(setup.schemes[network], kind).read(document)
        if claimed is not None and claimed != challenge.address:
            raise ChallengeNotOpen
        async with self._database.connection() as db:
            is_open = await challenge_store.count_attempt(
                db, challenge.digest, network, challenge.address, most=MAX_ATTEMPTS
            )
        if not is_open:
            raise ChallengeNotOpen
        is_on_ledger = await challenge.verify()
        return await self._create_session(network, challenge, request_id, is_on_ledger=is_on_ledger)

    async def _create_session(
        self,
        network: Network,
        challenge: ReturnedChallenge,
        request_id: str,
        *,
        is_on_ledger: bool,
    ) -> NewSession:
        """Consume the challenge and create the session in one transaction."""
        user = User(user_id(network, challenge.address), network, challenge.address)
        token, session_id = new_token(TokenType.SESSION), new_id(ID_KIND)
        caller = Caller(
            user.id,
            CallerKind.SESSION,
            network=network,
            address=user.address,
            session_id=session_id,
        )
        async with self._database.transaction() as db:
            if not await challenge_store.consume_challenge(
                db, challenge.digest, network, challenge.address
            ):
                raise ChallengeNotOpen
            await session_store.put_user(db, user, is_on_ledger=is_on_ledger)
            expires_at = await session_store.put_session(
                db, session_id, digest=token.digest, user=user.id, life=LIFE
            )
            revoked = await session_store.revoke_oldest(
                db, user.id, besides=session_id, most=MAX_LIVE - 1
            )
            await insert_event(db, AuditEvent(caller, Action.SIGNED_IN, session_id, request_id))
            for old in revoked:
                await insert_event(db, AuditEvent(caller, Action.SIGNED_OUT, old, request_id))
        return NewSession(session_id, token.value, user, expires_at)

    def _require_setup(self) -> SignInSetup:
        if self.setup is None:
            raise SignInUnavailable
        return self.setup


def _network(setup: SignInSetup, name: str) -> Network:
    network = parse_network(name)
    if network is None or network not in setup.schemes:
        raise InvalidSignIn(ErrorCode.UNSUPPORTED_NETWORK)
    return network


def _scheme(schemes: NetworkWebAuth, kind: DocumentKind) -> WebAuthScheme:
    if kind is DocumentKind.TRANSACTION:
        return schemes.accounts
    if schemes.contracts is None:
        raise ContractSignInUnavailable
    return schemes.contracts


def _address(attempt: SignInAttempt) -> Address:
    text = attempt.address
    if attempt.memo is not None:
        words = "Sign in without a memo: an account has one user, however many share it."
        raise InvalidSignIn(ErrorCode.MEMO_UNSUPPORTED, words)
    if text.startswith("M") and len(text) == _MUXED_LENGTH:
        words = "Sign in with the account itself (G…): a muxed address (M…) has no user of its own."
        raise InvalidSignIn(ErrorCode.MUXED_ACCOUNT_UNSUPPORTED, words)
    address = parse_party(text)
    if address is None:
        raise InvalidSignIn(ErrorCode.INVALID_ADDRESS)
    return address
