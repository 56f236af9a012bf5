"""The credential in a request's headers, and the operator's keys; nothing is looked up."""

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from farebox.accounts.token import RESERVED_PREFIX, TokenType, digest_of, token_kind
from farebox.kernel.caller import OwnerId, is_operators, operator_id

Headers = Sequence[tuple[bytes, bytes]]

COOKIE: Final = "__Host-fbx_sess"
CSRF_HEADER: Final = "X-Farebox-CSRF"
ACCOUNT_HEADER: Final = "X-Farebox-Account"
_COOKIE_NAME: Final = COOKIE.encode()
_CSRF: Final = CSRF_HEADER.lower().encode()
_ACCOUNT: Final = ACCOUNT_HEADER.lower().encode()
_LONGEST: Final = 256  # bytes of a token
_SHORTEST_OPERATOR_KEY: Final = 16
_LONGEST_COOKIES: Final = 16_384  # bytes, those of other services of the host among them
_BEARER: Final = re.compile(rb"(?i:bearer) ([\x21-\x7e]{1,%d})\Z" % _LONGEST)
_BARE: Final = re.compile(rb"[\x21-\x7e]{1,%d}\Z" % _LONGEST)
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_READ: Final = frozenset(
    {
        *(b"authorization", b"x-api-key", b"cookie", b"origin", b"host", b"sec-fetch-site"),
        *(_CSRF, _ACCOUNT),
    }
)


class CredentialType(Enum):
    """The kind of a credential, by which it is looked up."""

    SESSION = TokenType.SESSION
    KEY = TokenType.KEY
    OPERATOR = None


class CredentialFault(Enum):
    """Why the headers hold no valid credential."""

    UNUSABLE = "unusable"  # malformed, ambiguous, or in the wrong header
    CROSS_SITE = "cross_site"  # a session cookie without proof that our own page sent it


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential as its SHA-256 digest.

    `accounts` are the ids of the users that the page names with its cookie, one in a valid
    request: the cookie is the whole browser's, and each tab may show another account.
    """

    type: CredentialType
    digest: bytes
    accounts: tuple[str, ...] = ()

    def is_for(self, owner: OwnerId) -> bool:
        """Whether the page that sent the request names no account, or this one alone."""
        return all(each == owner for each in self.accounts)


ReadCredential = Credential | CredentialFault | None


def read_credential(method: str, headers: Headers, *, origin: str | None) -> ReadCredential:
    """Read the credential from the headers; None when they hold none.

    `Authorization` and `X-API-Key` take precedence over the cookie, and must agree where both are
    sent. For an unsafe method the cookie needs the header `X-Farebox-CSRF` and our own origin:
    `origin`, or the request's host where that is None. With the cookie the header
    `X-Farebox-Account` names the account that the request was made for.
    """
    values = _group_by_name(headers)
    if b"authorization" in values or b"x-api-key" in values:
        return _read_headers(values.get(b"authorization", []), values.get(b"x-api-key", []))
    if b"cookie" not in values:
        return None
    credential = _read_cookies(values[b"cookie"])
    is_safe = method in _SAFE
    if not isinstance(credential, Credential):
        return credential
    if not is_safe and not _is_same_origin(values, origin):
        return CredentialFault.CROSS_SITE
    return replace(
        credential, accounts=tuple(each.decode("latin-1") for each in values.get(_ACCOUNT, []))
    )


def is_same_origin(headers: Headers, *, origin: str | None) -> bool:
    """Whether a page of our own sent the request: its origin and the header `X-Farebox-CSRF`."""
    return _is_same_origin(_group_by_name(headers), origin)


def _group_by_name(headers: Headers) -> dict[bytes, list[bytes]]:
    values: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        if name in _READ:
            values.setdefault(name, []).append(value)
    return values


def _read_headers(authorizations: Sequence[bytes], keys: Sequence[bytes]) -> ReadCredential:
    if len(authorizations) > 1 or len(keys) > 1:
        return CredentialFault.UNUSABLE
    matches = [*map(_BEARER.match, authorizations), *map(_BARE.match, keys)]
    tokens = {match.group(match.re.groups) if match else b"" for match in matches}
    return _credential(tokens.pop()) if len(tokens) == 1 else CredentialFault.UNUSABLE


def _credential(token: bytes) -> ReadCredential:
    kind = token_kind(token)
    if kind is not None:
        return Credential(CredentialType(kind), digest_of(token))
    if (
        token[: len(RESERVED_PREFIX)].lower() == RESERVED_PREFIX
        or len(token) < _SHORTEST_OPERATOR_KEY
    ):
        return CredentialFault.UNUSABLE
    return Credential(CredentialType.OPERATOR, digest_of(token))


def _read_cookies(headers: Sequence[bytes]) -> ReadCredential:
    """Read the session cookie; no other credential may be in a cookie."""
    if sum(map(len, headers)) > _LONGEST_COOKIES:
        return CredentialFault.UNUSABLE
    sessions = set()
    for pair in b";".join(headers).split(b";"):
        name, _, value = pair.strip(b" \t").partition(b"=")
        if name == _COOKIE_NAME:
            sessions.add(value)
        elif value.startswith(TokenType.KEY.encode()):
            return CredentialFault.UNUSABLE  # a browser should not have the key
    if not sessions:
        return None
    token = sessions.pop()
    if sessions or token_kind(token) is not TokenType.SESSION:
        return CredentialFault.UNUSABLE
    return Credential(CredentialType.SESSION, digest_of(token))


def _is_same_origin(values: Mapping[bytes, Sequence[bytes]], origin: str | None) -> bool:
    sites = values.get(b"sec-fetch-site", [b"same-origin"])
    if list(sites) != [b"same-origin"] or not any(values.get(_CSRF, [])):
        return False
    origins, hosts = values.get(b"origin", []), values.get(b"host", [])
    if len(origins) != 1 or len(hosts) != 1:
        return False
    if origin is not None:
        return origins[0] == origin.encode()
    return origins[0] in (b"https://" + hosts[0], b"http://" + hosts[0])


class OperatorKeys:
    """The operator's configured keys, as SHA-256 digests."""

    def __init__(self, digests: Sequence[bytes]) -> None:
        empty = digest_of(b"")
        self._owners = [(digest, operator_id(digest)) for digest in digests if digest != empty]

    def owner_of(self, digest: bytes) -> OwnerId | None:
        """Return the operator id of the key with this digest; None when it is not configured.

        Every key is compared, so the duration does not depend on which one matches.
        """
        match: OwnerId | None = None
        for known, owner in self._owners:
            if hmac.compare_digest(known, digest):
                match = owner
        return match

    def is_removed(self, owner: OwnerId) -> bool:
        """Whether `owner` is an operator whose key is no longer configured."""
        return is_operators(owner) and all(owner != known for _, known in self._owners)
