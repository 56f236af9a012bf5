"""What a request shows of who sends it: the headers read, nothing looked up."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from farebox.accounts.token import RESERVED, TokenForm, digest_of, form_of

Headers = Sequence[tuple[bytes, bytes]]

COOKIE: Final = "__Host-fbx_sess"
CSRF_HEADER: Final = "X-Farebox-CSRF"
_COOKIE_NAME: Final = COOKIE.encode()
_CSRF: Final = CSRF_HEADER.lower().encode()
_LONGEST: Final = 256  # bytes of a token
_SHORTEST_OPERATOR_KEY: Final = 16
_LONGEST_COOKIES: Final = 16_384  # bytes, those of other services of the host among them
_BEARER: Final = re.compile(rb"(?i:bearer) ([\x21-\x7e]{1,%d})\Z" % _LONGEST)
_BARE: Final = re.compile(rb"[\x21-\x7e]{1,%d}\Z" % _LONGEST)
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_READ: Final = frozenset(
    {b"authorization", b"x-api-key", b"cookie", b"origin", b"host", b"sec-fetch-site", _CSRF}
)


class Form(Enum):
    """Where a credential is looked up."""

    SESSION = TokenForm.SESSION
    KEY = TokenForm.KEY
    OPERATOR = None


class Misuse(Enum):
    """Something is shown that cannot stand."""

    UNUSABLE = "unusable"  # malformed, twice and different, or in the wrong place
    CROSS_SITE = "cross_site"  # a browser's session without proof that our own page sent it


@dataclass(frozen=True, slots=True)
class Credential:
    """What is shown, as the SHA-256 digest by which it is found."""

    form: Form
    digest: bytes


Shown = Credential | Misuse | None


def read_credential(method: str, headers: Headers, *, origin: str | None) -> Shown:
    """What the headers show; None when that is nothing.

    `Authorization` and `X-API-Key` go before the cookie, and must agree where both are sent. The
    cookie counts for a method that changes something only with the header `X-Farebox-CSRF` and
    with our own origin: `origin`, or the request's host where that is None.
    """
    found = _named(headers)
    if b"authorization" in found or b"x-api-key" in found:
        return _of_headers(found.get(b"authorization", []), found.get(b"x-api-key", []))
    if b"cookie" not in found:
        return None
    shown = _of_cookies(found[b"cookie"])
    if isinstance(shown, Credential) and method not in _SAFE and not _is_ours(found, origin):
        return Misuse.CROSS_SITE
    return shown


def is_from_our_page(headers: Headers, *, origin: str | None) -> bool:
    """Whether a page of our own sent the request: its origin and the header `X-Farebox-CSRF`."""
    return _is_ours(_named(headers), origin)


def _named(headers: Headers) -> dict[bytes, list[bytes]]:
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        if name in _READ:
            found.setdefault(name, []).append(value)
    return found


def _of_headers(authorizations: Sequence[bytes], keys: Sequence[bytes]) -> Shown:
    if len(authorizations) > 1 or len(keys) > 1:
        return Misuse.UNUSABLE
    found = [*map(_BEARER.match, authorizations), *map(_BARE.match, keys)]
    tokens = {each.group(each.re.groups) if each else b"" for each in found}
    return _credential(tokens.pop()) if len(tokens) == 1 else Misuse.UNUSABLE


def _credential(token: bytes) -> Shown:
    form = form_of(token)
    if form is not None:
        return Credential(Form(form), digest_of(token))
    if token[: len(RESERVED)].lower() == RESERVED or len(token) < _SHORTEST_OPERATOR_KEY:
        return Misuse.UNUSABLE
    return Credential(Form.OPERATOR, digest_of(token))


def _of_cookies(headers: Sequence[bytes]) -> Shown:
    """The session a browser sends along; nothing else may stand in a cookie."""
    if sum(map(len, headers)) > _LONGEST_COOKIES:
        return Misuse.UNUSABLE
    sessions = set()
    for pair in b";".join(headers).split(b";"):
        name, _, value = pair.strip(b" \t").partition(b"=")
        if name == _COOKIE_NAME:
            sessions.add(value)
        elif value.startswith(TokenForm.KEY.encode()):
            return Misuse.UNUSABLE  # a key in a cookie is in the wrong hands
    if not sessions:
        return None
    token = sessions.pop()
    if sessions or form_of(token) is not TokenForm.SESSION:
        return Misuse.UNUSABLE
    return Credential(Form.SESSION, digest_of(token))


def _is_ours(found: Mapping[bytes, Sequence[bytes]], origin: str | None) -> bool:
    """Whether a page of our own sent the request."""
    sites = found.get(b"sec-fetch-site", [b"same-origin"])
    if list(sites) != [b"same-origin"] or not any(found.get(_CSRF, [])):
        return False
    origins, hosts = found.get(b"origin", []), found.get(b"host", [])
    if len(origins) != 1 or len(hosts) != 1:
        return False
    if origin is not None:
        return origins[0] == origin.encode()
    return origins[0] in (b"https://" + hosts[0], b"http://" + hosts[0])
