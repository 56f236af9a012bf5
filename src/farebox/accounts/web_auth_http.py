"""The routes of the wallet standards SEP-1, SEP-10 and SEP-45, and their handlers."""

from collections.abc import Iterable
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.accounts.sign_in import SignInAttempt
from farebox.accounts.sign_in_http import CHALLENGE_ERRORS, PRIVATE, VERIFY_ERRORS, SignInEdge
from farebox.accounts.sign_in_wire import (
    StandardChallengeBody,
    StandardTokenBody,
    StandardVerifyRequest,
    document_of,
    standard_challenge_body,
)
from farebox.accounts.stellar_toml import ServiceAddress, standard_path, stellar_toml
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import NotFound
from farebox.kernel.networks import Network
from farebox.web.endpoint import (
    JSON,
    Endpoint,
    Example,
    Parameter,
    ResponseDeclaration,
    RouteDeclaration,
    text,
)
from farebox.web.query_string import read_pairs
from farebox.web.request_body import UnreadableBody, decode_body, read_body
from farebox.web.request_context import context_of
from farebox.web.responses import send_json

_MAX_LENGTH: Final = 255  # characters of a parameter
_MAX_FIELDS: Final = 16
_FORM: Final = b"application/x-www-form-urlencoded"
_encode: Final = msgspec.json.Encoder().encode
_VERIFY: Final = msgspec.json.Decoder(StandardVerifyRequest)
_ASK_WORDS: Final = "account, home_domain? as the query."
_VERIFY_WORDS: Final = "{transaction} or {authorization_entries}."
_TOML: Final = RouteDeclaration(
    method="GET",
    path="/.well-known/stellar.toml",
    tag="accounts",
    summary="The file of SEP-1.",
    responses={200: ResponseDeclaration("The file.", {"type": "string"}, media="text/plain")},
    errors=(ErrorCode.NOT_FOUND,),
    is_cross_origin=True,
    example=Example(
        response='WEB_AUTH_ENDPOINT = "https://pay.example/v1/auth/testnet"\n',
    ),
)


def web_auth_routes(network: Network) -> tuple[RouteDeclaration, RouteDeclaration]:
    """Declare the two routes of SEP-10 and SEP-45 on a network: challenge and verification."""
    challenge = RouteDeclaration(
        method="GET",
        path=standard_path(network),
        tag="accounts",
        summary="A challenge, as SEP-10 and SEP-45 ask for it.",
        responses={200: ResponseDeclaration("The challenge.", StandardChallengeBody)},
        parameters=(
            Parameter("account", "The account.", text(max_length=_MAX_LENGTH), is_required=True),
            Parameter("home_domain", "The service's own.", text(max_length=_MAX_LENGTH)),
        ),
        errors=CHALLENGE_ERRORS,
        is_cross_origin=True,
        example=Example(
            response={
                "network_passphrase": network.passphrase,
                "transaction": "AAAAAgAAAABG…",
            }
        ),
    )
    verify = RouteDeclaration(
        method="POST",
        path=standard_path(network),
        tag="accounts",
        summary="A session for a signed challenge, as SEP-10 and SEP-45 send it.",
        request=StandardVerifyRequest,
        request_media=(JSON, _FORM.decode()),
        responses={200: ResponseDeclaration("The session's token.", StandardTokenBody)},
        errors=VERIFY_ERRORS,
        is_cross_origin=True,
        example=Example(
            request={"transaction": "AAAAAgAAAABG…"},
            response={"token": "fbx_sess_2nAbCdEfGhIjKlMnOpQrStUvWxYz0123"},
        ),
    )
    return challenge, verify


class StandardChallenge:
    """Issue a challenge; `client_domain` is not verified, so no challenge has one."""

    def __init__(self, edge: SignInEdge, network: Network) -> None:
        self._edge, self._network = edge, network

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fields = _read_fields(scope["query_string"], _ASK_WORDS)
        if "account" not in fields:
            raise UnreadableBody(_ASK_WORDS)
        asked = SignInAttempt(
            self._network.value,
            fields["account"],
            self._edge.client_of(scope),
            fields.get("home_domain"),
            fields.get("memo"),
        )
        made = await self._edge.sign_in.challenge(asked)
        await send_json(send, 200, _encode(standard_challenge_body(made)), PRIVATE)


class StandardVerify:
    """Open a session for a signed challenge, sent as JSON or as a form."""

    def __init__(self, edge: SignInEdge, network: Network) -> None:
        self._edge, self._network = edge, network

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        document = document_of(*_signed(scope, await read_body(receive)))
        context = context_of(scope)
        session = await self._edge.sign_in.finish(
            self._network.value, *document, claimed=None, request_id=context.request_id
        )
        context.add_log_fields(caller=session.user.id, session=session.id)
        body = StandardTokenBody(session.token.reveal())
        await send_json(send, 200, _encode(body), PRIVATE)


def _signed(scope: Scope, body: bytes) -> tuple[str | None, str | None]:
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    if kinds and kinds[0].split(b";")[0].strip().lower() == _FORM:
        fields = _read_fields(body, _VERIFY_WORDS, max_length=len(body))
        return fields.get("transaction"), fields.get("authorization_entries")
    read = decode_body(body, _VERIFY, _VERIFY_WORDS)
    return read.transaction, read.authorization_entries


def _read_fields(raw: bytes, expected: str, *, max_length: int = _MAX_LENGTH) -> dict[str, str]:
    """Read parameters, each given once.

    Raises:
        UnreadableBody: they are malformed, repeated or too long.
    """
    try:
        pairs = read_pairs(raw, max_fields=_MAX_FIELDS)
    except ValueError:
        raise UnreadableBody(expected) from None
    fields = dict(pairs)
    if len(fields) != len(pairs) or any(len(value) > max_length for value in fields.values()):
        raise UnreadableBody(expected)
    return fields


class StellarToml:
    """Serve the file with our signing key and endpoints, for wallets."""

    def __init__(self, edge: SignInEdge, place: ServiceAddress) -> None:
        self._edge, self._place = edge, place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        setup = self._edge.sign_in.setup
        if setup is None:
            raise NotFound
        host, port = scope.get("server") or (self._place.domain, 80)
        url = self._place.url_at(host, port or 80)
        body = stellar_toml(url, setup.server, setup.contracts).encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(body)),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def web_auth_endpoints(
    edge: SignInEdge, place: ServiceAddress, networks: Iterable[Network]
) -> list[Endpoint]:
    """Return the file of SEP-1, and for each network the routes of SEP-10 and SEP-45."""
    endpoints = [Endpoint(_TOML, StellarToml(edge, place))]
    for network in networks:
        challenge, verify = web_auth_routes(network)
        endpoints.append(Endpoint(challenge, StandardChallenge(edge, network)))
        endpoints.append(Endpoint(verify, StandardVerify(edge, network)))
    return endpoints
