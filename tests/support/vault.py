"""Master keys, secrets and replicas of the vault, for tests."""

import base64
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from farebox.kernel.caller import Caller, CallerKind, OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault.keep_secrets import Vault
from farebox.vault.master_keys import MasterKeys, read_master_keys
from farebox.vault.open_secret import Opening
from farebox.vault.sealing import Sealer
from farebox.vault.stored_secret import Purpose, StoredSecret
from support.asgi import Answer, AsgiClient
from support.callers import ask
from support.planted import found_in, planted

SECRETS: Final = "/v1/vault/secrets"


def _key() -> str:
    return planted(base64.b64encode(os.urandom(32)).decode())


def another_key(version: int) -> str:
    """An entry of the setting that nobody has had."""
    return f"{version}:{_key()}"


OLD: Final = another_key(1)
NEW: Final = another_key(2)
VAULT_SETTING: Final = {"FAREBOX_MASTER_KEYS": OLD}


def keys(*entries: str) -> MasterKeys:
    """The keys that these entries of the setting name, the first of which seals."""
    found = read_master_keys(",".join(entries))
    assert isinstance(found, MasterKeys), found
    return found


def a_value(length: int = 32) -> Secret[str]:
    """A value nobody has had, which is looked for after the test."""
    return Secret(planted(secrets.token_hex(length // 2)))


def somebody() -> Caller:
    """A caller whom nobody knows."""
    return Caller(OwnerId(new_id("user")), CallerKind.SESSION, session_id=new_id("ses"))


@dataclass(frozen=True, slots=True)
class Keeper:
    """One replica's vault, and what opens its secrets."""

    vault: Vault
    opening: Opening

    async def keep(
        self,
        caller: Caller,
        value: Secret[str],
        *,
        purpose: Purpose = Purpose.HEADER,
        name: str | None = None,
    ) -> StoredSecret:
        """A secret of the caller's with this value."""
        name = name or new_id("name")
        return await self.vault.create(caller, "r", name=name, value=value, purpose=purpose)

    async def opened(self, secret: StoredSecret) -> str:
        """Its value."""
        opened = await self.opening.open(secret.owner, secret.id, purposes=[secret.purpose])
        return opened.reveal()


def keeper(database: Database, *entries: str) -> Keeper:
    """A replica with these master keys."""
    sealer = Sealer(keys(*entries or (OLD,)))
    return Keeper(Vault(database, sealer), Opening(database, sealer))


async def quietly(
    client: AsgiClient, method: str, path: str, headers: Mapping[str, str], value: object = None
) -> Answer:
    """One request, in whose answer nothing planted stands."""
    answer = await ask(client, method, path, headers, value)
    assert found_in(f"{answer.headers} {answer.body.decode()}") == []
    return answer


async def kept(client: AsgiClient, headers: Mapping[str, str], **asked: Any) -> dict[str, Any]:
    """A secret as it is answered."""
    body = {"name": new_id("name"), "value": a_value().reveal()} | asked
    answer = await quietly(client, "POST", SECRETS, headers, body)
    assert answer.status == 201, answer.body
    return answer.json()
