"""`/v1/vault/secrets` over HTTP."""

from typing import Final

import msgspec
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from farebox.kernel.caller import Grant
from farebox.kernel.errors import Refusal
from farebox.kernel.secret import Secret
from farebox.vault.keep_secrets import Vault
from farebox.vault.wire import (
    CreateSecretRequest,
    RotateSecretRequest,
    SecretPlace,
    secret_body,
    secret_list_body,
)
from farebox.web.answers import send_json, send_nothing
from farebox.web.guard import Authenticates, Guarded, Needs, caller_of
from farebox.web.json_body import read_json
from farebox.web.paging import read_page, write_cursor
from farebox.web.request_note import note_of

SECRETS: Final = "/v1/vault/secrets"
_encode: Final = msgspec.json.Encoder().encode
_CREATE: Final = msgspec.json.Decoder(CreateSecretRequest)
_ROTATE: Final = msgspec.json.Decoder(RotateSecretRequest)
_CREATE_WORDS: Final = "{name, value: 1 to 16384 characters, purpose?: header, bearer, other}."
_ROTATE_WORDS: Final = "{value: 1 to 16384 characters}."


class VaultUnavailable(Refusal):
    """The operator has configured no master key."""

    def __init__(self) -> None:
        super().__init__("vault_unavailable", "This service keeps no secrets.")


class CreateSecret:
    """201 with the secret, its value left out."""

    def __init__(self, vault: Vault | None) -> None:
        self._vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        vault = _there(self._vault)
        asked = await read_json(receive, _CREATE, _CREATE_WORDS)
        made = await vault.create(
            caller_of(scope),
            note_of(scope).request_id,
            name=asked.name,
            value=Secret(asked.value),
            purpose=asked.purpose,
        )
        await send_json(send, 201, _encode(secret_body(made)))


class ListSecrets:
    """The caller's secrets by page, newest first, without their values."""

    def __init__(self, vault: Vault | None) -> None:
        self._vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        vault = _there(self._vault)
        asked = read_page(scope["query_string"], SecretPlace)
        after = asked.after.place if asked.after else None
        found = await vault.page(caller_of(scope).owner, after=after, limit=asked.limit + 1)
        shown = found[: asked.limit]
        cursor = write_cursor(SecretPlace.of(shown[-1].place)) if len(found) > len(shown) else None
        body = secret_list_body(shown, limit=asked.limit, next_cursor=cursor)
        await send_json(send, 200, _encode(body))


class DeleteSecret:
    """204 once it is gone; 409 while something uses it."""

    def __init__(self, vault: Vault | None) -> None:
        self._vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller, secret_id = caller_of(scope), scope["path_params"]["id"]
        await _there(self._vault).delete(caller, note_of(scope).request_id, secret_id)
        await send_nothing(send)


class RotateSecret:
    """The same secret with another value."""

    def __init__(self, vault: Vault | None) -> None:
        self._vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        vault = _there(self._vault)
        value = Secret((await read_json(receive, _ROTATE, _ROTATE_WORDS)).value)
        caller, secret_id = caller_of(scope), scope["path_params"]["id"]
        rotated = await vault.rotate(caller, note_of(scope).request_id, secret_id, value)
        await send_json(send, 200, _encode(secret_body(rotated)))


def vault_routes(vault: Vault | None, authenticates: Authenticates) -> list[Route]:
    """The vault's routes; without a vault they say that there is none."""
    needs = Needs(Grant.WRAPPERS)
    create = Guarded(CreateSecret(vault), authenticates, needs)
    delete = Guarded(DeleteSecret(vault), authenticates, needs)
    rotate = Guarded(RotateSecret(vault), authenticates, needs)
    return [
        Route(SECRETS, create, methods=["POST"]),
        Route(SECRETS, Guarded(ListSecrets(vault), authenticates, needs), methods=["GET"]),
        Route(f"{SECRETS}/{{id}}", delete, methods=["DELETE"]),
        Route(f"{SECRETS}/{{id}}/rotate", rotate, methods=["POST"]),
    ]


def _there(vault: Vault | None) -> Vault:
    if vault is None:
        raise VaultUnavailable
    return vault
