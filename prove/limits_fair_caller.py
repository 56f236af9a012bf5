"""Clients with addresses of their own on the loopback, and wallets that cost nothing."""

import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp
from stellar_sdk import Keypair

from farebox.accounts.token import TokenType, new_token
from farebox.kernel.secret import Secret
from prove.auth_caller import ApiClient, owner_of
from prove.environment import Environment
from prove.world import NETWORK

_CONNECTIONS: Final = 8  # of one client
_SCOPES: Final = ["facilitator", "read", "wrappers"]


@dataclass(frozen=True, slots=True)
class Client:
    """A client with one address."""

    address: str
    api: ApiClient


@dataclass(frozen=True, slots=True)
class FreeWallet:
    """A wallet that is not on the ledger, signed in, with some keys."""

    owner: str
    session: Secret[str]
    keys: Sequence[Secret[str]]


@asynccontextmanager
async def client_at(address: str) -> AsyncIterator[Client]:
    """A client whose connections come from this address of the loopback."""
    connector = aiohttp.TCPConnector(local_addr=(address, 0), limit=_CONNECTIONS)
    async with aiohttp.ClientSession(connector=connector, trust_env=False) as web:
        yield Client(address, ApiClient(web))


async def free_wallet(environment: Environment, *, keys: int) -> FreeWallet:
    """Insert a wallet that is not on the ledger, with a session and keys."""
    wallet = Keypair.random()
    owner, session = owner_of(wallet), new_token(TokenType.SESSION)
    await environment.query(
        "INSERT INTO users (id, network, address) VALUES ($1, $2, $3)",
        *(owner, NETWORK.value, wallet.public_key),
    )
    await environment.query(
        """
        INSERT INTO sessions (id, digest, user_id, expires_at)
        VALUES ($1, $2, $3, now() + interval '1 hour')
        """,
        *(f"sess_{secrets.token_hex(8)}", session.digest, owner),
    )
    made = [new_token(TokenType.KEY) for _ in range(keys)]
    for number, key in enumerate(made):
        await environment.query(
            """
            INSERT INTO api_keys (id, owner, name, prefix, digest, grants)
            VALUES ($1, $2, $3, $4, $5, $6)
            """,
            *(f"key_{secrets.token_hex(11)}", owner, f"key {number}", key.prefix, key.digest),
            _SCOPES,
        )
    return FreeWallet(owner, session.value, [each.value for each in made])


async def keys_from(environment: Environment, address: str, count: int) -> None:
    """Insert `count` revoked keys that were created from the client address."""
    await environment.query(
        """
        INSERT INTO api_keys (id, owner, name, prefix, digest, grants, revoked_at, client)
        SELECT 'old ' || $1 || n, 'user of ' || $1, 'old', 'fbx_live_0000',
               sha256(convert_to($1 || n, 'UTF8')), '{read}', now(), $1
        FROM generate_series(1, $2::int) AS n
        """,
        address,
        count,
    )
