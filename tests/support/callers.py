"""Callers of every kind, and the service in process without any network."""

import contextlib
import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec
from stellar_sdk import Keypair

from farebox.accounts.token import TokenType, new_token
from farebox.app.asgi import create_app
from farebox.app.configuration import read_settings
from farebox.kernel.caller import Caller, CallerKind, OwnerId, operator_id, user_id
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import Answer, AsgiClient, started
from support.planted_secrets import plant_secret

OPERATOR_KEY: Final = plant_secret("an operator's key that only the tests know".replace(" ", "-"))
OPERATOR_DIGEST: Final = hashlib.sha256(OPERATOR_KEY.encode()).digest()
OPERATOR: Final = operator_id(OPERATOR_DIGEST)
OPERATOR_SETTING: Final = {"FAREBOX_OPERATOR_KEYS": f"sha256:{OPERATOR_DIGEST.hex()}"}
ORIGIN: Final = "http://farebox.test"  # of the host that the in-process client names


@dataclass(frozen=True, slots=True)
class Wallet:
    """A wallet with a session."""

    token: str
    caller: Caller

    @property
    def owner(self) -> OwnerId:
        """The owner id of the wallet's records."""
        return self.caller.owner

    @property
    def headers(self) -> dict[str, str]:
        """The header of the session token."""
        return bearer(self.token)

    @property
    def browser_headers(self) -> dict[str, str]:
        """The headers that a page of our own origin sends."""
        return {
            "cookie": f"__Host-fbx_sess={self.token}",
            "origin": ORIGIN,
            "x-farebox-csrf": "1",
        }


def bearer(token: str) -> dict[str, str]:
    """Return the `Authorization` header of a token."""
    return {"authorization": f"Bearer {token}"}


async def sign_in_wallet(
    database: Database,
    *,
    address: str | None = None,
    network: Network = Network.TESTNET,
    life: timedelta = timedelta(hours=24),
) -> Wallet:
    """Insert a wallet with a new session."""
    address = address or Keypair.random().public_key
    token, session_id = new_token(TokenType.SESSION), new_id("ses")
    plant_secret(token.value.reveal())
    owner = user_id(network, address)
    async with database.transaction() as db:
        await db.execute(
            "INSERT INTO users (id, network, address) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            *(owner, network.value, address),
        )
        await db.execute(
            "INSERT INTO sessions (id, digest, user_id, expires_at)"
            " VALUES ($1, $2, $3, clock_timestamp() + $4::interval)",
            *(session_id, token.digest, owner, life),
        )
    caller = Caller(
        owner, CallerKind.SESSION, network=network, address=address, session_id=session_id
    )
    return Wallet(token.value.reveal(), caller)


@contextlib.asynccontextmanager
async def replica(
    url: Secret[str], settings: Mapping[str, str] | None = None
) -> AsyncIterator[AsgiClient]:
    """Start a replica of the service on this database, without any network."""
    environment = {
        "FAREBOX_DATABASE_URL": url.reveal(),
        "FAREBOX_SEARCH_SEMANTIC": "off",
        **OPERATOR_SETTING,
        **(settings or {}),
    }
    app = create_app(read_settings(environment, needs_network=False))
    async with started(app):
        yield AsgiClient(app)


async def send_request(
    client: AsgiClient,
    method: str,
    path: str,
    headers: Mapping[str, str],
    value: object = None,
) -> Answer:
    """Send one request with these headers; `value` is the JSON body, None is no body."""
    body = b"" if value is None else msgspec.json.encode(value)
    return await client.request(method, path, body=body, headers=headers)


async def create_key(
    client: AsgiClient, headers: Mapping[str, str], **terms: Any
) -> dict[str, Any]:
    """Create an API key of the caller; return the response body, which holds the key."""
    answer = await send_request(
        client, "POST", "/v1/api-keys", headers, {"name": new_id("name")} | terms
    )
    assert answer.status == 201, answer.body
    made = answer.json()
    plant_secret(made["key"])
    return made
