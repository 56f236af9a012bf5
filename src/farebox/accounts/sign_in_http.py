"""`/v1/auth/*` over HTTP: our own shapes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from farebox.accounts.authenticate import CrossSiteRequest
from farebox.accounts.credential import COOKIE, CSRF_HEADER, is_from_our_page
from farebox.accounts.session import LIFE
from farebox.accounts.sessions import Sessions
from farebox.accounts.sign_in import Asked, SignIn
from farebox.accounts.sign_in_wire import (
    ChallengeRequest,
    Delivery,
    LogoutBody,
    LogoutRequest,
    VerifyRequest,
    challenge_body,
    document_of,
    me_body,
    session_body,
)
from farebox.kernel.caller import Grant
from farebox.kernel.secret import Secret
from farebox.web.answers import send_json
from farebox.web.guard import Authenticates, Guarded, Needs, caller_of
from farebox.web.json_body import read_json
from farebox.web.request_note import note_of

AUTH: Final = "/v1/auth"
# what holds a session is kept by nobody and shown in nobody's frame
PRIVATE: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
)
_encode: Final = msgspec.json.Encoder().encode
_CHALLENGE: Final = msgspec.json.Decoder(ChallengeRequest)
_VERIFY: Final = msgspec.json.Decoder(VerifyRequest)
_LOGOUT: Final = msgspec.json.Decoder(LogoutRequest)
_CHALLENGE_WORDS: Final = "{network, address, homeDomain?}."
_VERIFY_WORDS: Final = (
    "{network, transactionXdr | authorizationEntriesXdr, address?, delivery?: token or cookie}."
)
_LOGOUT_WORDS: Final = "{everywhere?: true or false}."
_MAX_AGE_S: Final = int(LIFE.total_seconds())
_ATTRIBUTES: Final = "Path=/; Secure; HttpOnly; SameSite=Strict"


@dataclass(frozen=True, slots=True)
class SignInEdge:
    """What the routes of signing in are made from."""

    sign_in: SignIn
    sessions: Sessions
    authenticates: Authenticates
    client_of: Callable[[Scope], str]  # the client address, as limits count it
    origin: str | None  # of our own pages; None: the host that a request names


class ChallengeEndpoint:
    """200 with a challenge to sign."""

    def __init__(self, edge: SignInEdge) -> None:
        self._edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = await read_json(receive, _CHALLENGE, _CHALLENGE_WORDS)
        client = self._edge.client_of(scope)
        asked = Asked(said.network, said.address, client, said.home_domain, said.memo)
        made = await self._edge.sign_in.challenge(asked)
        await send_json(send, 200, _encode(challenge_body(made)), PRIVATE)


class VerifyEndpoint:
    """200 with a session: its token, or a cookie that holds it for a page of our own."""

    def __init__(self, edge: SignInEdge) -> None:
        self._edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = await read_json(receive, _VERIFY, _VERIFY_WORDS)
        document = document_of(said.transaction_xdr, said.authorization_entries_xdr)
        # somebody else's page could sign its visitor in as somebody else
        is_cookie = said.delivery is Delivery.COOKIE
        if is_cookie and not is_from_our_page(scope["headers"], origin=self._edge.origin):
            raise CrossSiteRequest
        note = note_of(scope)
        session = await self._edge.sign_in.finish(
            said.network, *document, claimed=said.address, request_id=note.request_id
        )
        note.say(caller=session.user.id, session=session.id)
        headers = [*PRIVATE]
        if is_cookie:
            headers.append(_set_cookie(session.token))
        body = session_body(session, said.delivery, csrf_header=CSRF_HEADER)
        await send_json(send, 200, _encode(body), headers)


class MeEndpoint:
    """Who the caller is."""

    def __init__(self, edge: SignInEdge) -> None:
        self._edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_of(scope)
        body = me_body(caller, await self._edge.sessions.end_of(caller))
        await send_json(send, 200, _encode(body), PRIVATE)


class LogoutEndpoint:
    """The session that asks is over, or all of the wallet's; the cookie is taken back."""

    def __init__(self, edge: SignInEdge) -> None:
        self._edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = await read_json(receive, _LOGOUT, _LOGOUT_WORDS)
        ended = await self._edge.sessions.end(
            caller_of(scope), everywhere=said.everywhere, request_id=note_of(scope).request_id
        )
        await send_json(send, 200, _encode(LogoutBody(ended)), [*PRIVATE, _clear_cookie()])


def _set_cookie(token: Secret[str]) -> tuple[bytes, bytes]:
    return _cookie(f"{COOKIE}={token.reveal()}; Max-Age={_MAX_AGE_S}; {_ATTRIBUTES}")


def _clear_cookie() -> tuple[bytes, bytes]:
    return _cookie(f"{COOKIE}=; Max-Age=0; {_ATTRIBUTES}")


def _cookie(text: str) -> tuple[bytes, bytes]:
    return b"set-cookie", text.encode()


def sign_in_routes(edge: SignInEdge) -> list[Route]:
    """The routes by which anybody may sign in."""
    return [
        Route(f"{AUTH}/challenge", ChallengeEndpoint(edge), methods=["POST"]),
        Route(f"{AUTH}/verify", VerifyEndpoint(edge), methods=["POST"]),
    ]


def session_routes(edge: SignInEdge) -> list[Route]:
    """The routes of whoever has signed in."""
    me = Guarded(MeEndpoint(edge), edge.authenticates, Needs(Grant.READ))
    logout = Guarded(LogoutEndpoint(edge), edge.authenticates, Needs())
    return [
        Route(f"{AUTH}/me", me, methods=["GET"]),
        Route(f"{AUTH}/logout", logout, methods=["POST"]),
    ]
