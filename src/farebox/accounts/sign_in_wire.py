"""The JSON shapes of signing in."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from farebox.accounts.session import NewSession
from farebox.accounts.sign_in import NewChallenge
from farebox.accounts.web_auth_scheme import DocumentKind, OneDocumentRequired
from farebox.kernel.addresses import is_account
from farebox.kernel.caller import Caller, CallerKind, Grant
from farebox.kernel.networks import Network
from farebox.kernel.pages import Moment

CSRF_HEADER_VALUE: Final = "1"
NetworkName = Annotated[str, Meta(max_length=64)]
AddressText = Annotated[str, Meta(max_length=128)]
Document = Annotated[str, Meta(max_length=65_536)]  # each reader has a narrower bound of its own


class Delivery(StrEnum):
    """How a new session is handed over."""

    TOKEN = "token"  # noqa: S105 - a word of the wire
    COOKIE = "cookie"


class ChallengeRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Who wants to sign in. `homeDomain` must be the service's; a memo is refused."""

    network: NetworkName
    address: AddressText
    home_domain: Annotated[str, Meta(max_length=255)] | None = None
    memo: Annotated[str, Meta(max_length=64)] | int | None = None


class ChallengeBody(msgspec.Struct, rename="camel", omit_defaults=True):
    """A challenge: one of the two documents, to be signed and sent back."""

    network: Network
    network_passphrase: str
    address: str
    home_domain: str
    web_auth_domain: str
    signing_key: str
    expires_at: Moment
    transaction_xdr: str | UnsetType = UNSET
    authorization_entries_xdr: str | UnsetType = UNSET


class VerifyRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A signed challenge, one of the two documents. `address`, if given, must be its account."""

    network: NetworkName
    transaction_xdr: Document | None = None
    authorization_entries_xdr: Document | None = None
    address: AddressText | None = None
    delivery: Delivery = Delivery.TOKEN


class UserBody(msgspec.Struct, rename="camel", omit_defaults=True):
    """Whose records are meant; the operator has no wallet."""

    id: str
    network: Network | UnsetType = UNSET
    address: str | UnsetType = UNSET


class CsrfBody(msgspec.Struct, rename="camel"):
    """What a page sends along with its cookie when it changes something."""

    header: str
    value: str


class SessionBody(msgspec.Struct, rename="camel", omit_defaults=True):
    """A new session: its token, or what goes with the cookie that holds it."""

    user: UserBody
    expires_at: Moment
    token: str | UnsetType = UNSET
    csrf: CsrfBody | UnsetType = UNSET

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.user.id!r})"


class MeBody(msgspec.Struct, rename="camel", omit_defaults=True):
    """Who the caller is; `expiresAt` is the session's."""

    user: UserBody
    kind: CallerKind
    scopes: list[Grant]
    expires_at: Moment | UnsetType = UNSET


class LogoutRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which sessions end: the one that asks, or all of the wallet's."""

    everywhere: bool = False


class LogoutBody(msgspec.Struct, rename="camel"):
    """How many sessions ended."""

    ended: int


class StandardChallengeBody(msgspec.Struct, omit_defaults=True):
    """A challenge as SEP-10 and SEP-45 spell it."""

    network_passphrase: str
    transaction: str | UnsetType = UNSET
    authorization_entries: str | UnsetType = UNSET


class StandardVerifyRequest(msgspec.Struct):
    """A signed challenge as SEP-10 and SEP-45 spell it; exactly one of the two."""

    transaction: Document | None = None
    authorization_entries: Document | None = None


class StandardTokenBody(msgspec.Struct):
    """A session's token as SEP-10 and SEP-45 spell it."""

    token: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def challenge_body(made: NewChallenge) -> ChallengeBody:
    """The challenge as our own clients read it."""
    network, issued = made.network, made.issued
    is_wallet = is_account(issued.address)
    return ChallengeBody(
        network=network,
        network_passphrase=network.passphrase,
        address=issued.address,
        home_domain=made.domain,
        web_auth_domain=made.domain,
        signing_key=made.server,
        expires_at=issued.expires_at,
        transaction_xdr=issued.document if is_wallet else UNSET,
        authorization_entries_xdr=UNSET if is_wallet else issued.document,
    )


def standard_challenge_body(made: NewChallenge) -> StandardChallengeBody:
    """The challenge as every client of the standards reads it."""
    passphrase, issued = made.network.passphrase, made.issued
    if is_account(issued.address):
        return StandardChallengeBody(passphrase, transaction=issued.document)
    return StandardChallengeBody(passphrase, authorization_entries=issued.document)


def session_body(session: NewSession, delivery: Delivery, *, csrf_header: str) -> SessionBody:
    """The session; the token is in it unless the cookie holds it."""
    user = session.user
    body = SessionBody(
        user=UserBody(user.id, user.network, user.address), expires_at=session.expires_at
    )
    if delivery is Delivery.TOKEN:
        body.token = session.token.reveal()
    else:
        body.csrf = CsrfBody(csrf_header, CSRF_HEADER_VALUE)
    return body


def me_body(caller: Caller, expires_at: datetime | None) -> MeBody:
    """The caller as it is known."""
    return MeBody(
        user=UserBody(
            caller.owner,
            UNSET if caller.network is None else caller.network,
            UNSET if caller.address is None else caller.address,
        ),
        kind=caller.kind,
        scopes=sorted(caller.grants),
        expires_at=UNSET if expires_at is None else expires_at,
    )


def document_of(transaction: str | None, entries: str | None) -> tuple[DocumentKind, str]:
    """The one document that was sent, and of which kind it is.

    Raises:
        OneDocumentRequired: there is none, or there are two.
    """
    if transaction is not None and entries is None:
        return DocumentKind.TRANSACTION, transaction
    if entries is not None and transaction is None:
        return DocumentKind.ENTRIES, entries
    raise OneDocumentRequired
