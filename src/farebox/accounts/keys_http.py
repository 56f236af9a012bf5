"""`/v1/api-keys`: the declared routes and their handlers."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.accounts.api_key import judge_terms
from farebox.accounts.keys_wire import (
    CreateKeyRequest,
    IssuedKeyBody,
    KeyBody,
    KeyListBody,
    KeyPlace,
    RotateKeyRequest,
    issued_key_body,
    key_body,
    key_list_body,
)
from farebox.accounts.manage_keys import KeyManagement
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.web.endpoint import (
    Endpoint,
    Example,
    ResponseDeclaration,
    RouteDeclaration,
    record_id,
)
from farebox.web.guard import Access, caller_of, quota_client
from farebox.web.paging import PAGE_ERRORS, PAGE_PARAMETERS, cut_page, read_page
from farebox.web.request_body import read_json
from farebox.web.request_context import context_of
from farebox.web.responses import send_json

KEYS: Final = "/v1/api-keys"
_NO_STORE: Final = [(b"cache-control", b"no-store")]
_encode: Final = msgspec.json.Encoder().encode
_CREATE: Final = msgspec.json.Decoder(CreateKeyRequest)
_ROTATE: Final = msgspec.json.Decoder(RotateKeyRequest)
_CREATE_WORDS: Final = (
    "{name, expiresAt? | expiresInSeconds?, scopes?: read, facilitator, wrappers, automation}."
)
_ROTATE_WORDS: Final = "{overlapSeconds?: 0 to 604800}."
_OWNER_ONLY: Final = Access()
_ID: Final = record_id("The key's id.", prefix="key")
_KEY: Final = {
    "id": "key_2nAbCdEfGhIjKlMnOpQrSt",
    "name": "checkout server",
    "prefix": "fbx_live_2nAb",
    "scopes": ["facilitator"],
    "createdAt": "2026-11-21T09:30:00Z",
    "updatedAt": "2026-11-21T09:30:00Z",
    "expiresAt": None,
    "revokedAt": None,
    "lastUsedAt": None,
    "replacedBy": None,
}
_ISSUED: Final = {**_KEY, "key": "fbx_live_2nAbCdEfGhIjKlMnOpQrStUvWxYz0123"}

CREATE: Final = RouteDeclaration(
    method="POST",
    path=KEYS,
    tag="accounts",
    summary="Make a personal key; it is shown this once.",
    request=CreateKeyRequest,
    responses={201: ResponseDeclaration("The key.", IssuedKeyBody)},
    access=_OWNER_ONLY,
    errors=(
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_NAME,
        ErrorCode.INVALID_EXPIRY,
        ErrorCode.NAME_TAKEN,
        ErrorCode.TOO_MANY_KEYS,
        ErrorCode.QUOTA_REACHED,
    ),
    example=Example(
        request={"name": "checkout server", "scopes": ["facilitator"]},
        response=_ISSUED,
        status=201,
    ),
)
LIST: Final = RouteDeclaration(
    method="GET",
    path=KEYS,
    tag="accounts",
    summary="Your keys, newest first, revoked ones too.",
    responses={200: ResponseDeclaration("A page of keys.", KeyListBody)},
    parameters=PAGE_PARAMETERS,
    access=_OWNER_ONLY,
    errors=PAGE_ERRORS,
    example=Example(response={"items": [_KEY], "pagination": {"limit": 20, "nextCursor": None}}),
)
DELETE: Final = RouteDeclaration(
    method="DELETE",
    path=f"{KEYS}/{{id}}",
    tag="accounts",
    summary="Revoke a key and every key it was rotated to.",
    responses={200: ResponseDeclaration("The key as it is now.", KeyBody)},
    parameters=(_ID,),
    access=_OWNER_ONLY,
    errors=(ErrorCode.NOT_FOUND,),
    example=Example(response={**_KEY, "revokedAt": "2026-11-22T12:00:00Z"}),
)
REVOKE: Final = replace(DELETE, method="POST", path=f"{KEYS}/{{id}}/revoke")
ROTATE: Final = RouteDeclaration(
    method="POST",
    path=f"{KEYS}/{{id}}/rotate",
    tag="accounts",
    summary="Replace a key by a new one, shown this once.",
    request=RotateKeyRequest,
    is_request_required=False,
    responses={201: ResponseDeclaration("The new key.", IssuedKeyBody)},
    parameters=(_ID,),
    access=Access(is_for_any_key=True),  # a key may rotate itself
    errors=(
        ErrorCode.INVALID_REQUEST,
        ErrorCode.SESSION_REQUIRED,
        ErrorCode.NOT_FOUND,
        ErrorCode.KEY_REVOKED,
        ErrorCode.TOO_MANY_KEYS,
        ErrorCode.QUOTA_REACHED,
    ),
    example=Example(request={"overlapSeconds": 3600}, response=_ISSUED, status=201),
)


class CreateKey:
    """Create a key: 201 with the key itself, this once."""

    def __init__(self, keys: KeyManagement, clock: Clock) -> None:
        self._keys, self._clock = keys, clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await read_json(receive, _CREATE, _CREATE_WORDS)
        terms = judge_terms(
            request.name,
            request.scopes,
            expires_at=request.expires_at,
            life=request.life,
            now=self._clock.now(),
        )
        request_id = context_of(scope).request_id
        issued = await self._keys.create(
            caller_of(scope), terms, request_id=request_id, client=quota_client(scope)
        )
        await send_json(send, 201, _encode(issued_key_body(issued)), _NO_STORE)


class ListKeys:
    """List the caller's keys by page, newest first."""

    def __init__(self, keys: KeyManagement) -> None:
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = read_page(scope["query_string"], KeyPlace)
        after = page.after.place if page.after else None
        keys = await self._keys.page(caller_of(scope).owner, after=after, limit=page.limit + 1)
        shown, cursor = cut_page(keys, page.limit, lambda each: KeyPlace.of(each.place))
        body = key_list_body(shown, limit=page.limit, next_cursor=cursor)
        await send_json(send, 200, _encode(body), _NO_STORE)


class RotateKey:
    """201 with the new key itself, this once."""

    def __init__(self, keys: KeyManagement) -> None:
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await read_json(receive, _ROTATE, _ROTATE_WORDS)
        issued = await self._keys.rotate(
            caller_of(scope),
            scope["path_params"]["id"],
            overlap=timedelta(seconds=request.overlap_seconds),
            request_id=context_of(scope).request_id,
            client=quota_client(scope),
        )
        await send_json(send, 201, _encode(issued_key_body(issued)), _NO_STORE)


class RevokeKey:
    """Revoke a key; the response is the same when it was revoked before."""

    def __init__(self, keys: KeyManagement) -> None:
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller, key_id = caller_of(scope), scope["path_params"]["id"]
        request_id = context_of(scope).request_id
        revoked = await self._keys.revoke(caller, key_id, request_id=request_id)
        await send_json(send, 200, _encode(key_body(revoked)), _NO_STORE)


def key_endpoints(keys: KeyManagement, clock: Clock) -> list[Endpoint]:
    """Return the routes of personal keys."""
    revoke = RevokeKey(keys)
    return [
        Endpoint(CREATE, CreateKey(keys, clock)),
        Endpoint(LIST, ListKeys(keys)),
        Endpoint(DELETE, revoke),
        Endpoint(REVOKE, revoke),
        Endpoint(ROTATE, RotateKey(keys)),
    ]
