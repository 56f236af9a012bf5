"""`/v1/api-keys` over HTTP."""

from datetime import timedelta
from typing import Final

import msgspec
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from farebox.accounts.api_key import judge_terms
from farebox.accounts.keys_wire import (
    CreateKeyRequest,
    KeyPlace,
    RotateKeyRequest,
    issued_key_body,
    key_body,
    key_list_body,
)
from farebox.accounts.manage_keys import KeyManagement
from farebox.kernel.clock import Clock
from farebox.web.answers import send_json
from farebox.web.guard import Authenticates, Guarded, Needs, caller_of
from farebox.web.json_body import read_json
from farebox.web.paging import read_page, write_cursor
from farebox.web.request_note import note_of

KEYS: Final = "/v1/api-keys"
_NO_STORE: Final = [(b"cache-control", b"no-store")]
_encode: Final = msgspec.json.Encoder().encode
_CREATE: Final = msgspec.json.Decoder(CreateKeyRequest)
_ROTATE: Final = msgspec.json.Decoder(RotateKeyRequest)
_CREATE_WORDS: Final = (
    "{name, expiresAt? | expiresInSeconds?, scopes?: read, facilitator, wrappers, automation}."
)
_ROTATE_WORDS: Final = "{overlapSeconds?: 0 to 604800}."


class CreateKey:
    """201 with the key itself, this once."""

    def __init__(self, keys: KeyManagement, clock: Clock) -> None:
        self._keys, self._clock = keys, clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = await read_json(receive, _CREATE, _CREATE_WORDS)
        terms = judge_terms(
            asked.name,
            asked.scopes,
            expires_at=asked.expires_at,
            life=asked.life,
            now=self._clock.now(),
        )
        request_id = note_of(scope).request_id
        issued = await self._keys.create(caller_of(scope), terms, request_id=request_id)
        await send_json(send, 201, _encode(issued_key_body(issued)), _NO_STORE)


class ListKeys:
    """The caller's keys by page, newest first."""

    def __init__(self, keys: KeyManagement) -> None:
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = read_page(scope["query_string"], KeyPlace)
        after = None if asked.after is None else asked.after.place
        page = await self._keys.page(caller_of(scope).owner, after=after, limit=asked.limit)
        cursor = None if page.after is None else write_cursor(KeyPlace.of(page.after))
        body = key_list_body(page.keys, limit=asked.limit, next_cursor=cursor)
        await send_json(send, 200, _encode(body), _NO_STORE)


class RotateKey:
    """201 with the new key itself, this once."""

    def __init__(self, keys: KeyManagement) -> None:
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = await read_json(receive, _ROTATE, _ROTATE_WORDS)
        issued = await self._keys.rotate(
            caller_of(scope),
            scope["path_params"]["id"],
            overlap=timedelta(seconds=asked.overlap_seconds),
            request_id=note_of(scope).request_id,
        )
        await send_json(send, 201, _encode(issued_key_body(issued)), _NO_STORE)


class RevokeKey:
    """The key as it is now, whether this or an earlier request revoked it."""

    def __init__(self, keys: KeyManagement) -> None:
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller, key_id = caller_of(scope), scope["path_params"]["id"]
        request_id = note_of(scope).request_id
        revoked = await self._keys.revoke(caller, key_id, request_id=request_id)
        await send_json(send, 200, _encode(key_body(revoked)), _NO_STORE)


def key_routes(keys: KeyManagement, authenticates: Authenticates, clock: Clock) -> list[Route]:
    """The routes of personal keys: for a session and the operator; a key may rotate itself."""
    owner_only, also_a_key = Needs(), Needs(is_for_any_key=True)
    revoke = Guarded(RevokeKey(keys), authenticates, owner_only)
    create = Guarded(CreateKey(keys, clock), authenticates, owner_only)
    rotate = Guarded(RotateKey(keys), authenticates, also_a_key)
    return [
        Route(KEYS, create, methods=["POST"]),
        Route(KEYS, Guarded(ListKeys(keys), authenticates, owner_only), methods=["GET"]),
        Route(f"{KEYS}/{{id}}", revoke, methods=["DELETE"]),
        Route(f"{KEYS}/{{id}}/revoke", revoke, methods=["POST"]),
        Route(f"{KEYS}/{{id}}/rotate", rotate, methods=["POST"]),
    ]
