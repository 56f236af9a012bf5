"""`/v1/vault/secrets` over HTTP."""

from typing import Final

import msgspec
from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from farebox.kernel.caller import Grant
from farebox.kernel.errors import Refusal
from farebox.vault.keep_secrets import Vault
from farebox.vault.wire import (
    Place,
    list_body,
    moment_of,
    place_of,
    read_new_secret,
    read_new_value,
    secret_body,
)
from farebox.web.answers import send_json, send_nothing
from farebox.web.guard import Authenticates, Guarded, Needs, caller_of
from farebox.web.limits import read_body
from farebox.web.paging import read_page, write_cursor
from farebox.web.request_note import note_of

SECRETS: Final = "/v1/vault/secrets"
SECRET: Final = SECRETS + "/{secret_id}"
ROTATE: Final = SECRET + "/rotate"
_encode: Final = msgspec.json.Encoder().encode


class VaultUnavailable(Refusal):
    """The operator has configured no master key."""

    def __init__(self) -> None:
        super().__init__("vault_unavailable", "This service keeps no secrets.")


class SecretsEndpoint:
    """Makes a secret, or lists the caller's own without their values."""

    def __init__(self, vault: Vault | None) -> None:
        self._vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        vault = _there(self._vault)
        if scope["method"] == "POST":
            await self._create(vault, scope, receive, send)
        else:
            await self._list(vault, scope, send)

    async def _create(self, vault: Vault, scope: Scope, receive: Receive, send: Send) -> None:
        asked = read_new_secret(await read_body(receive))
        made = await vault.create(
            caller_of(scope),
            note_of(scope).request_id,
            name=asked.name,
            value=asked.value,
            purpose=asked.purpose,
        )
        await send_json(send, 201, _encode(secret_body(made)))

    async def _list(self, vault: Vault, scope: Scope, send: Send) -> None:
        page = read_page(scope["query_string"], Place)
        after = moment_of(page.after) if page.after else None
        owner = caller_of(scope).owner
        found = await vault.page(owner, after=after, limit=page.limit + 1)
        shown = found[: page.limit]
        cursor = write_cursor(place_of(shown[-1])) if len(found) > page.limit else None
        await send_json(send, 200, _encode(list_body(shown, limit=page.limit, cursor=cursor)))


class SecretEndpoint:
    """Deletes a secret of the caller's."""

    def __init__(self, vault: Vault | None) -> None:
        self._vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        secret_id = Request(scope).path_params["secret_id"]
        request_id = note_of(scope).request_id
        await _there(self._vault).delete(caller_of(scope), request_id, secret_id)
        await send_nothing(send)


class RotateEndpoint:
    """Gives a secret of the caller's another value."""

    def __init__(self, vault: Vault | None) -> None:
        self._vault = vault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        vault = _there(self._vault)
        value = read_new_value(await read_body(receive))
        secret_id = Request(scope).path_params["secret_id"]
        rotated = await vault.rotate(caller_of(scope), note_of(scope).request_id, secret_id, value)
        await send_json(send, 200, _encode(secret_body(rotated)))


def vault_routes(vault: Vault | None, authenticates: Authenticates) -> list[BaseRoute]:
    """The vault's routes; without a vault they say that there is none."""
    needs = Needs(Grant.WRAPPERS)
    listed = Guarded(SecretsEndpoint(vault), authenticates, needs)
    single = Guarded(SecretEndpoint(vault), authenticates, needs)
    rotate = Guarded(RotateEndpoint(vault), authenticates, needs)
    return [
        Route(SECRETS, listed, methods=["GET", "POST"]),
        Route(SECRET, single, methods=["DELETE"]),
        Route(ROTATE, rotate, methods=["POST"]),
    ]


def _there(vault: Vault | None) -> Vault:
    if vault is None:
        raise VaultUnavailable
    return vault
