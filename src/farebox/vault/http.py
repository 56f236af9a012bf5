"""`/v1/vault/secrets`: the declared routes and their handlers."""

from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from farebox.kernel.caller import Grant
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.kernel.secret import Secret
from farebox.vault.manage_secrets import Vault
from farebox.vault.wire import (
    CreateSecretRequest,
    RotateSecretRequest,
    SecretBody,
    SecretListBody,
    SecretPlace,
    secret_body,
    secret_list_body,
)
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
from farebox.web.responses import send_json, send_no_content

SECRETS: Final = "/v1/vault/secrets"
_encode: Final = msgspec.json.Encoder().encode
_CREATE: Final = msgspec.json.Decoder(CreateSecretRequest)
_ROTATE: Final = msgspec.json.Decoder(RotateSecretRequest)
_CREATE_WORDS: Final = "{name, value: 1 to 16384 bytes, purpose?: header, bearer, other}."
_ROTATE_WORDS: Final = "{value: 1 to 16384 bytes}."
_ACCESS: Final = Access(Grant.WRAPPERS)
_ID: Final = record_id("The secret's id.", prefix="sec")
_SHOWN: Final = ResponseDeclaration("The secret, without its value.", SecretBody)
_EXAMPLE: Final = {
    "id": "sec_2nAbCdEfGhIjKlMnOpQrSt",
    "name": "weather upstream",
    "purpose": "bearer",
    "createdAt": "2026-11-21T09:30:00Z",
    "updatedAt": "2026-11-21T09:30:00Z",
}

CREATE: Final = RouteDeclaration(
    method="POST",
    path=SECRETS,
    tag="vault",
    summary="Keep a secret; its value is never shown again.",
    request=CreateSecretRequest,
    responses={201: _SHOWN},
    access=_ACCESS,
    errors=(
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_NAME,
        ErrorCode.INVALID_VALUE,
        ErrorCode.VALUE_NOT_FOR_HEADER,
        ErrorCode.NAME_TAKEN,
        ErrorCode.TOO_MANY_SECRETS,
        ErrorCode.QUOTA_REACHED,
        ErrorCode.VAULT_UNAVAILABLE,
    ),
    example=Example(
        request={"name": "weather upstream", "value": "s3cr3t-t0ken", "purpose": "bearer"},
        response=_EXAMPLE,
        status=201,
    ),
)
LIST: Final = RouteDeclaration(
    method="GET",
    path=SECRETS,
    tag="vault",
    summary="Your secrets, newest first, without their values.",
    responses={200: ResponseDeclaration("A page of secrets.", SecretListBody)},
    parameters=PAGE_PARAMETERS,
    access=_ACCESS,
    errors=(*PAGE_ERRORS, ErrorCode.VAULT_UNAVAILABLE),
    example=Example(
        response={"items": [_EXAMPLE], "pagination": {"limit": 20, "nextCursor": None}}
    ),
)
DELETE: Final = RouteDeclaration(
    method="DELETE",
    path=f"{SECRETS}/{{id}}",
    tag="vault",
    summary="Forget a secret.",
    responses={204: ResponseDeclaration("It is gone.")},
    parameters=(_ID,),
    access=_ACCESS,
    errors=(ErrorCode.NOT_FOUND, ErrorCode.SECRET_IN_USE, ErrorCode.VAULT_UNAVAILABLE),
    example=Example(status=204),
)
ROTATE: Final = RouteDeclaration(
    method="POST",
    path=f"{SECRETS}/{{id}}/rotate",
    tag="vault",
    summary="Give a secret another value.",
    request=RotateSecretRequest,
    responses={200: _SHOWN},
    parameters=(_ID,),
    access=_ACCESS,
    errors=(
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_VALUE,
        ErrorCode.VALUE_NOT_FOR_HEADER,
        ErrorCode.NOT_FOUND,
        ErrorCode.VAULT_UNAVAILABLE,
    ),
    example=Example(request={"value": "an0ther-t0ken"}, response=_EXAMPLE),
)


class VaultUnavailable(Refusal):
    """The operator has configured no master key."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.VAULT_UNAVAILABLE)


class CreateSecret:
    """Create a secret: 201 without its value."""

    def __init__(self, vault: Vault | None) -> None:
        self._vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        vault = _required(self._vault)
        request = await read_json(receive, _CREATE, _CREATE_WORDS)
        secret = await vault.create(
            caller_of(scope),
            context_of(scope).request_id,
            name=request.name,
            value=Secret(request.value),
            purpose=request.purpose,
            client=quota_client(scope),
        )
        await send_json(send, 201, _encode(secret_body(secret)))


class ListSecrets:
    """List the caller's secrets by page, newest first, without their values."""

    def __init__(self, vault: Vault | None) -> None:
        self._vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        vault = _required(self._vault)
        page = read_page(scope["query_string"], SecretPlace)
        after = page.after.place if page.after else None
        secrets = await vault.page(caller_of(scope).owner, after=after, limit=page.limit + 1)
        shown, cursor = cut_page(secrets, page.limit, lambda each: SecretPlace.of(each.place))
        body = secret_list_body(shown, limit=page.limit, next_cursor=cursor)
        await send_json(send, 200, _encode(body))


class DeleteSecret:
    """Delete a secret: 204, or 409 while a wrapper uses it."""

    def __init__(self, vault: Vault | None) -> None:
        self._vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller, secret_id = caller_of(scope), scope["path_params"]["id"]
        await _required(self._vault).delete(caller, context_of(scope).request_id, secret_id)
        await send_no_content(send)


class RotateSecret:
    """Give a secret another value."""

    def __init__(self, vault: Vault | None) -> None:
        self._vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        vault = _required(self._vault)
        value = Secret((await read_json(receive, _ROTATE, _ROTATE_WORDS)).value)
        caller, secret_id = caller_of(scope), scope["path_params"]["id"]
        rotated = await vault.rotate(caller, context_of(scope).request_id, secret_id, value)
        await send_json(send, 200, _encode(secret_body(rotated)))


def vault_endpoints(vault: Vault | None) -> list[Endpoint]:
    """Return the vault's routes; without a vault they answer 503."""
    return [
        Endpoint(CREATE, CreateSecret(vault)),
        Endpoint(LIST, ListSecrets(vault)),
        Endpoint(DELETE, DeleteSecret(vault)),
        Endpoint(ROTATE, RotateSecret(vault)),
    ]


def _required(vault: Vault | None) -> Vault:
    if vault is None:
        raise VaultUnavailable
    return vault
