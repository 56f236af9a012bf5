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
from farebox.vault.manage_secrets import Vault
from farebox.vault.master_keys import MasterKeys, read_master_keys
from farebox.vault.read_secret import SecretReader
from farebox.vault.sealing import Sealer
from farebox.vault.stored_secret import Purpose, StoredSecret
from support.asgi import Answer, AsgiClient
from support.callers import send_request
from support.planted_secrets import find_planted, plant_secret
from support.unlimited import Unlimited

SECRETS: Final = "/v1/vault/secrets"


def _key() -> str:
    return plant_secret(base64.b64encode(os.urandom(32)).decode())


def another_key(version: int) -> str:
    """Return a new entry of the master key setting."""
    return f"{version}:{_key()}"


OLD: Final = another_key(1)
NEW: Final = another_key(2)
VAULT_SETTING: Final = {"FAREBOX_MASTER_KEYS": OLD}


def keys(*entries: str) -> MasterKeys:
    """Read master keys from entries of the setting; the first one seals."""
    found = read_master_keys(",".join(entries))
    assert isinstance(found, MasterKeys), found
    return found


def random_value(length: int = 32) -> Secret[str]:
    """Return a new planted value."""
    return Secret(plant_secret(secrets.token_hex(length // 2)))


def new_owner() -> Caller:
    """Return a caller without any record."""
    return Caller(OwnerId(new_id("user")), CallerKind.SESSION, session_id=new_id("ses"))


@dataclass(frozen=True, slots=True)
class VaultReplica:
    """The vault and the secret reader of one replica."""

    vault: Vault
    reader: SecretReader

    async def keep(
        self,
        caller: Caller,
        value: Secret[str],
        *,
        purpose: Purpose = Purpose.HEADER,
        name: str | None = None,
    ) -> StoredSecret:
        """Create a secret of the caller with this value."""
        name = name or new_id("name")
        return await self.vault.create(caller, "r", name=name, value=value, purpose=purpose)

    async def opened(self, secret: StoredSecret) -> str:
        """Return the value of a secret."""
        opened = await self.reader.read(secret.owner, secret.id, purposes=[secret.purpose])
        return opened.reveal()


def vault_replica(database: Database, *entries: str) -> VaultReplica:
    """Return a replica with these master keys."""
    sealer = Sealer(keys(*entries or (OLD,)))
    return VaultReplica(Vault(database, sealer, Unlimited()), SecretReader(database, sealer))


async def send_without_leak(
    client: AsgiClient, method: str, path: str, headers: Mapping[str, str], value: object = None
) -> Answer:
    """Send one request and check that its response holds no planted value."""
    answer = await send_request(client, method, path, headers, value)
    assert find_planted(f"{answer.headers} {answer.body.decode()}") == []
    return answer


async def create_secret(
    client: AsgiClient, headers: Mapping[str, str], **members: Any
) -> dict[str, Any]:
    """Create a secret over HTTP; return the response body."""
    body = {"name": new_id("name"), "value": random_value().reveal()} | members
    answer = await send_without_leak(client, "POST", SECRETS, headers, body)
    assert answer.status == 201, answer.body
    return answer.json()
