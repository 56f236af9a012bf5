"""What wallets of the standards ask for: SEP-1, SEP-10 and SEP-45 over HTTP."""

from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl

import msgspec
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from farebox.accounts.public_place import PublicPlace
from farebox.accounts.sign_in import Asked
from farebox.accounts.sign_in_http import PRIVATE, SignInEdge
from farebox.accounts.sign_in_wire import (
    StandardTokenBody,
    StandardVerifyRequest,
    document_of,
    standard_challenge_body,
)
from farebox.accounts.stellar_toml import standard_path, stellar_toml
from farebox.kernel.errors import NotFound
from farebox.kernel.networks import Network
from farebox.web.answers import send_json
from farebox.web.json_body import UnreadableBody
from farebox.web.limits import read_body
from farebox.web.request_note import note_of

TOML: Final = "/.well-known/stellar.toml"
_LONGEST: Final = 255  # characters of a parameter
_FIELDS: Final = 16
_FORM: Final = b"application/x-www-form-urlencoded"
_encode: Final = msgspec.json.Encoder().encode
_VERIFY: Final = msgspec.json.Decoder(StandardVerifyRequest)
_ASK_WORDS: Final = "account, home_domain? as the query."
_VERIFY_WORDS: Final = "{transaction} or {authorization_entries}."


class StandardChallenge:
    """GET: a challenge. `client_domain` is not verified, so no challenge has one."""

    def __init__(self, edge: SignInEdge, network: Network) -> None:
        self._edge, self._network = edge, network

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = _fields(scope["query_string"], _ASK_WORDS)
        if "account" not in said:
            raise UnreadableBody(_ASK_WORDS)
        asked = Asked(
            self._network.value,
            said["account"],
            self._edge.client_of(scope),
            said.get("home_domain"),
            said.get("memo"),
        )
        made = await self._edge.sign_in.challenge(asked)
        await send_json(send, 200, _encode(standard_challenge_body(made)), PRIVATE)


class StandardVerify:
    """POST, as JSON or as a form: a session's token."""

    def __init__(self, edge: SignInEdge, network: Network) -> None:
        self._edge, self._network = edge, network

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        document = document_of(*_signed(scope, await read_body(receive)))
        note = note_of(scope)
        session = await self._edge.sign_in.finish(
            self._network.value, *document, claimed=None, request_id=note.request_id
        )
        note.say(caller=session.user.id, session=session.id)
        body = StandardTokenBody(session.token.reveal())
        await send_json(send, 200, _encode(body), PRIVATE)


def _signed(scope: Scope, body: bytes) -> tuple[str | None, str | None]:
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    if kinds and kinds[0].split(b";")[0].strip().lower() == _FORM:
        said = _fields(body, _VERIFY_WORDS, longest=len(body))
        return said.get("transaction"), said.get("authorization_entries")
    try:
        read = _VERIFY.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UnreadableBody(_VERIFY_WORDS) from None
    return read.transaction, read.authorization_entries


def _fields(text: bytes, expected: str, *, longest: int = _LONGEST) -> dict[str, str]:
    """The parameters, none of them twice.

    Raises:
        UnreadableBody: they are something else.
    """
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError:
        raise UnreadableBody(expected) from None
    fields = dict(pairs)
    if len(fields) != len(pairs) or any(len(value) > longest for value in fields.values()):
        raise UnreadableBody(expected)
    return fields


class StellarToml:
    """GET: the file by which wallets know us, for every page that asks."""

    def __init__(self, edge: SignInEdge, place: PublicPlace) -> None:
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
            (b"access-control-allow-origin", b"*"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def web_auth_routes(
    edge: SignInEdge, place: PublicPlace, networks: Iterable[Network]
) -> list[Route]:
    """The file of SEP-1, and for each network the endpoint of SEP-10 and SEP-45."""
    routes = [Route(TOML, StellarToml(edge, place), methods=["GET"])]
    for network in networks:
        path = standard_path(network)
        routes.append(Route(path, StandardChallenge(edge, network), methods=["GET"]))
        routes.append(Route(path, StandardVerify(edge, network), methods=["POST"]))
    return routes
