"""Clients of the account routes, some with addresses and wallets of their own that cost nothing."""

import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import msgspec
from stellar_sdk import Keypair, TransactionEnvelope

from farebox.accounts.token import TokenType, new_token
from farebox.kernel.caller import OwnerId, user_id
from farebox.kernel.secret import Secret
from prove.environment import Environment
from prove.world import NETWORK
from testing.machine import RunFailed

KEYS: Final = "/v1/api-keys"
SIGNING_SECRET: Final = Keypair.from_raw_ed25519_seed(b"farebox proofs sign in like this").secret
_ANSWER_S: Final = 30.0
_TIMEOUT: Final = aiohttp.ClientTimeout(total=_ANSWER_S)
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, slots=True)
class TimedResponse:
    """A response, with the times its request was sent and it was received."""

    status: int
    body: dict[str, Any]
    sent_at: float
    received_at: float

    @property
    def code(self) -> str:
        """The error code of a refusal, or the reason of a failed payment; empty otherwise."""
        error = self.body.get("error")
        return str(error["code"] if isinstance(error, dict) else self.body.get("errorReason", ""))

    def __str__(self) -> str:
        return f"{self.status} {self.code}".rstrip()


class ApiClient:
    """Sends requests to any replica; `requests` counts them."""

    def __init__(self, web: aiohttp.ClientSession) -> None:
        self._web = web
        self.requests = 0

    async def ask(
        self,
        url: str,
        method: str,
        path: str,
        *,
        token: Secret[str] | None = None,
        value: object = None,
    ) -> TimedResponse:
        """Send one request; the response has status 0 when none came."""
        headers = {} if token is None else {"authorization": f"Bearer {token.reveal()}"}
        body = None if value is None else msgspec.json.encode(value)
        self.requests += 1
        sent_at = time.monotonic()
        try:
            async with self._web.request(
                method, url + path, data=body, headers=headers, timeout=_TIMEOUT
            ) as answer:
                body_read = _decode(await answer.read())
                return TimedResponse(answer.status, body_read, sent_at, time.monotonic())
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError):
            return TimedResponse(0, {}, sent_at, time.monotonic())

    async def is_accepted(self, url: str, token: Secret[str]) -> tuple[bool, TimedResponse]:
        """Whether a session or key is accepted; a key gets 403, because it may not list keys."""
        response = await self.ask(url, "GET", KEYS, token=token)
        return response.status in (200, 403), response

    async def signed_challenge(self, url: str, wallet: Keypair) -> dict[str, str]:
        """Request a challenge and sign it; return the body of the verify request."""
        request = {"network": NETWORK.value, "address": wallet.public_key}
        response = await self.ask(url, "POST", "/v1/auth/challenge", value=request)
        if response.status != 200:
            raise RunFailed(f"no challenge was issued: {response}")
        envelope = TransactionEnvelope.from_xdr(response.body["transactionXdr"], NETWORK.passphrase)
        envelope.sign(wallet)
        return {"network": NETWORK.value, "transactionXdr": envelope.to_xdr()}

    async def sign_in(self, url: str, wallet: Keypair | None = None) -> "Holder":
        """Sign in with a wallet, a new one where none is given."""
        wallet = wallet or Keypair.random()
        signed = await self.signed_challenge(url, wallet)
        response = await self.ask(url, "POST", "/v1/auth/verify", value=signed)
        if response.status != 200:
            raise RunFailed(f"the sign-in failed: {response}")
        return Holder(owner_of(wallet), Secret(response.body["token"]))

    async def key(self, url: str, holder: "Holder", name: str) -> "HeldKey":
        """Create a key of the wallet."""
        response = await self.ask(url, "POST", KEYS, token=holder.session, value={"name": name})
        if response.status != 201:
            raise RunFailed(f"no key was created: {response}")
        return HeldKey(response.body["id"], Secret(response.body["key"]))


def owner_of(wallet: Keypair) -> OwnerId:
    """Return the owner id of a wallet."""
    return user_id(NETWORK, wallet.public_key)


@dataclass(frozen=True, slots=True)
class Holder:
    """A signed-in owner and its session."""

    owner: OwnerId
    session: Secret[str]


@dataclass(frozen=True, slots=True)
class HeldKey:
    """An API key as its holder knows it."""

    id: str
    token: Secret[str]


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
