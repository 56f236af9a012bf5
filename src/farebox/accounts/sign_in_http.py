"""`/v1/auth/*` in our own shapes: the declared routes and their handlers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.accounts.authenticate import CrossSiteRequest
from farebox.accounts.credential import COOKIE, CSRF_HEADER, is_same_origin
from farebox.accounts.session import LIFE
from farebox.accounts.sessions import Sessions
from farebox.accounts.sign_in import SignIn, SignInAttempt
from farebox.accounts.sign_in_wire import (
    ChallengeBody,
    ChallengeRequest,
    Delivery,
    LogoutBody,
    LogoutRequest,
    MeBody,
    SessionBody,
    VerifyRequest,
    challenge_body,
    document_of,
    me_body,
    session_body,
)
from farebox.kernel.caller import Grant
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.secret import Secret
from farebox.web.endpoint import Endpoint, Example, ResponseDeclaration, RouteDeclaration
from farebox.web.guard import Access, caller_of
from farebox.web.request_body import read_json
from farebox.web.request_context import context_of
from farebox.web.responses import send_json

AUTH: Final = "/v1/auth"
# a response with a session is neither cached nor framed by a page
PRIVATE: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
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
_ADDRESS: Final = "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3"
_USER: Final = {
    "id": "user_9f86d081884c7d659a2feaa0c55ad015",
    "network": "stellar:testnet",
    "address": _ADDRESS,
}
CHALLENGE_ERRORS: Final = (
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_ADDRESS,
    ErrorCode.UNSUPPORTED_NETWORK,
    ErrorCode.MUXED_ACCOUNT_UNSUPPORTED,
    ErrorCode.MEMO_UNSUPPORTED,
    ErrorCode.UNKNOWN_HOME_DOMAIN,
    ErrorCode.ACCOUNT_ARCHIVED,
    ErrorCode.ACCOUNT_NOT_ALLOWED,
    ErrorCode.SIGN_IN_UNAVAILABLE,
    ErrorCode.CONTRACT_LOGIN_UNAVAILABLE,
)
VERIFY_ERRORS: Final = (
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_ADDRESS,
    ErrorCode.UNSUPPORTED_NETWORK,
    ErrorCode.INVALID_CHALLENGE,
    ErrorCode.ACCOUNT_ARCHIVED,
    ErrorCode.CHALLENGE_NOT_OPEN,
    ErrorCode.SIGNATURE_REFUSED,
    ErrorCode.ACCOUNT_NOT_ALLOWED,
    ErrorCode.CROSS_SITE_REQUEST,
    ErrorCode.SIGN_IN_UNAVAILABLE,
    ErrorCode.CONTRACT_LOGIN_UNAVAILABLE,
)

CHALLENGE: Final = RouteDeclaration(
    method="POST",
    path=f"{AUTH}/challenge",
    tag="accounts",
    summary="Ask for a challenge to sign with a wallet.",
    request=ChallengeRequest,
    responses={
        200: ResponseDeclaration("The challenge; it works once, for five minutes.", ChallengeBody)
    },
    errors=CHALLENGE_ERRORS,
    example=Example(
        request={"network": "stellar:testnet", "address": _ADDRESS},
        response={
            "network": "stellar:testnet",
            "networkPassphrase": "Test SDF Network ; September 2015",
            "address": _ADDRESS,
            "homeDomain": "pay.example",
            "webAuthDomain": "pay.example",
            "signingKey": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
            "expiresAt": "2026-11-21T09:35:00Z",
            "transactionXdr": "AAAAAgAAAABG…",
        },
    ),
)
VERIFY: Final = RouteDeclaration(
    method="POST",
    path=f"{AUTH}/verify",
    tag="accounts",
    summary="Send the signed challenge back for a session of 24 hours.",
    request=VerifyRequest,
    responses={200: ResponseDeclaration("The session.", SessionBody)},
    errors=VERIFY_ERRORS,
    example=Example(
        request={"network": "stellar:testnet", "transactionXdr": "AAAAAgAAAABG…"},
        response={
            "user": _USER,
            "expiresAt": "2026-11-22T09:31:00Z",
            "token": "fbx_sess_2nAbCdEfGhIjKlMnOpQrStUvWxYz0123",
        },
    ),
)
ME: Final = RouteDeclaration(
    method="GET",
    path=f"{AUTH}/me",
    tag="accounts",
    summary="Return the caller.",
    responses={200: ResponseDeclaration("The caller.", MeBody)},
    access=Access(Grant.READ),
    example=Example(
        response={
            "user": _USER,
            "kind": "session",
            "scopes": ["automation", "facilitator", "read", "wrappers"],
            "expiresAt": "2026-11-22T09:31:00Z",
        }
    ),
)
LOGOUT: Final = RouteDeclaration(
    method="POST",
    path=f"{AUTH}/logout",
    tag="accounts",
    summary="End the session, or all of the wallet's.",
    request=LogoutRequest,
    is_request_required=False,
    responses={200: ResponseDeclaration("How many ended.", LogoutBody)},
    access=Access(),
    errors=(ErrorCode.INVALID_REQUEST,),
    example=Example(request={"everywhere": True}, response={"ended": 2}),
)


@dataclass(frozen=True, slots=True)
class SignInEdge:
    """The parts that the handlers of signing in share."""

    sign_in: SignIn
    sessions: Sessions
    client_of: Callable[[Scope], str]  # the client address, as limits count it
    origin: str | None  # of our own pages; None: the host that a request names


class ChallengeEndpoint:
    """Issue a challenge to sign."""

    def __init__(self, edge: SignInEdge) -> None:
        self._edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await read_json(receive, _CHALLENGE, _CHALLENGE_WORDS)
        client = self._edge.client_of(scope)
        attempt = SignInAttempt(
            request.network, request.address, client, request.home_domain, request.memo
        )
        made = await self._edge.sign_in.challenge(attempt)
        await send_json(send, 200, _encode(challenge_body(made)), PRIVATE)


class VerifyEndpoint:
    """Open a session: its token, or a cookie that holds it for a page of our own."""

    def __init__(self, edge: SignInEdge) -> None:
        self._edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await read_json(receive, _VERIFY, _VERIFY_WORDS)
        document = document_of(request.transaction_xdr, request.authorization_entries_xdr)
        # a page of another site could sign its visitor in with another account
        is_cookie = request.delivery is Delivery.COOKIE
        if is_cookie and not is_same_origin(scope["headers"], origin=self._edge.origin):
            raise CrossSiteRequest
        context = context_of(scope)
        session = await self._edge.sign_in.finish(
            request.network, *document, claimed=request.address, request_id=context.request_id
        )
        context.add_log_fields(caller=session.user.id, session=session.id)
        headers = [*PRIVATE]
        if is_cookie:
            headers.append(_set_cookie(session.token))
        body = session_body(session, request.delivery, csrf_header=CSRF_HEADER)
        await send_json(send, 200, _encode(body), headers)


class MeEndpoint:
    """Return the caller."""

    def __init__(self, edge: SignInEdge) -> None:
        self._edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_of(scope)
        body = me_body(caller, await self._edge.sessions.expiry_of(caller))
        await send_json(send, 200, _encode(body), PRIVATE)


class LogoutEndpoint:
    """End the caller's session, or all of the wallet's, and clear the cookie."""

    def __init__(self, edge: SignInEdge) -> None:
        self._edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await read_json(receive, _LOGOUT, _LOGOUT_WORDS)
        ended = await self._edge.sessions.revoke(
            caller_of(scope), everywhere=request.everywhere, request_id=context_of(scope).request_id
        )
        await send_json(send, 200, _encode(LogoutBody(ended)), [*PRIVATE, _clear_cookie()])


def _set_cookie(token: Secret[str]) -> tuple[bytes, bytes]:
    return _cookie(f"{COOKIE}={token.reveal()}; Max-Age={_MAX_AGE_S}; {_ATTRIBUTES}")


def _clear_cookie() -> tuple[bytes, bytes]:
    return _cookie(f"{COOKIE}=; Max-Age=0; {_ATTRIBUTES}")


def _cookie(text: str) -> tuple[bytes, bytes]:
    return b"set-cookie", text.encode()


def sign_in_endpoints(edge: SignInEdge) -> list[Endpoint]:
    """Return the routes of signing in, and those of a session."""
    return [
        Endpoint(CHALLENGE, ChallengeEndpoint(edge)),
        Endpoint(VERIFY, VerifyEndpoint(edge)),
        Endpoint(ME, MeEndpoint(edge)),
        Endpoint(LOGOUT, LogoutEndpoint(edge)),
    ]
