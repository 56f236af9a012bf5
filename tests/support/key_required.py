"""A service whose facilitator routes require a credential, and callers with API keys."""

import asyncio
import hashlib
import itertools
import time
from collections.abc import Mapping
from typing import Any, Final

from stellar_sdk import Keypair

from farebox.accounts.token import TokenType, new_token
from farebox.kernel.caller import OwnerId, operator_id, user_id
from farebox.kernel.networks import Network
from farebox.x402.reasons import REGISTRY, Reason
from support.asgi import Answer
from support.stage import Stage

OPERATORS: Final = ("an-operators-key-of-some-length", "another-operators-key-as-long")
ROUTES: Final = ("/verify", "/settle")
_SOME_S: Final = 6.0
_numbers: Final = itertools.count(1)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


OWNERS: Final = tuple(operator_id(_digest(key)) for key in OPERATORS)
PER_ADDRESS: Final = 4
PER_KEY: Final = 6
SETTINGS: Final = {
    "FAREBOX_OPERATOR_KEYS": ",".join(f"sha256:{_digest(key).hex()}" for key in OPERATORS),
    "FAREBOX_FACILITATOR_AUTH_TESTNET": "required",
    "FAREBOX_FACILITATOR_AUTH_PUBNET": "open",
    "FAREBOX_RATE_PER_ADDRESS": str(PER_ADDRESS),
    "FAREBOX_RATE_PER_KEY": str(PER_KEY),
    "FAREBOX_TRUSTED_PROXIES": "127.0.0.1",
}


def new_client_address() -> dict[str, str]:
    """The `X-Forwarded-For` header of a client address that no other test uses."""
    number = next(_numbers)
    return {"x-forwarded-for": f"198.18.{number // 250}.{number % 250 + 1}"}


def bearer(token: str) -> dict[str, str]:
    """The headers of a credential and of a client address of its own."""
    return {"authorization": f"Bearer {token}", **new_client_address()}


async def insert_key(stage: Stage, *scopes: str, owner: OwnerId = OWNERS[0]) -> str:
    """Insert an API key of the owner with these scopes; return the key."""
    made, name = new_token(TokenType.KEY), f"key {next(_numbers)}"
    await stage.query(
        """
        INSERT INTO api_keys (id, owner, name, prefix, digest, grants)
        VALUES ($1, $2, $1, $3, $4, $5)
        """,
        name,
        owner,
        made.prefix,
        made.digest,
        list(scopes),
    )
    return made.value.reveal()


async def insert_session(stage: Stage) -> tuple[str, OwnerId]:
    """Insert a session of a new wallet; return its token and its owner."""
    address = Keypair.random().public_key
    made, owner = new_token(TokenType.SESSION), user_id(Network.TESTNET, address)
    await stage.query(
        "INSERT INTO users (id, network, address, was_on_ledger) VALUES ($1, $2, $3, true)",
        owner,
        Network.TESTNET.value,
        address,
    )
    await stage.query(
        """
        INSERT INTO sessions (id, digest, user_id, expires_at)
        VALUES ($1, $2, $3, now() + interval '1 hour')
        """,
        f"session of {address}",
        made.digest,
        owner,
    )
    return made.value.reveal(), owner


async def wait_for_fresh_minute() -> None:
    """Return when the minute of the rate limiter has at least `_SOME_S` seconds left."""
    left_s = 60 - time.time() % 60
    if left_s < _SOME_S:
        await asyncio.sleep(left_s + 0.01)


async def get_usage(stage: Stage, headers: Mapping[str, str], query: str = "") -> Answer:
    """Request the caller's usage."""
    return await stage.client.request("GET", f"/v1/usage{query}", headers=headers)


async def settlement_callers(stage: Stage) -> list[tuple[OwnerId | None, str]]:
    """Return the caller and the state of each settlement, the oldest first."""
    rows: list[Any] = await stage.query("SELECT caller, state FROM settlements ORDER BY claimed_at")
    return [(row["caller"], row["state"]) for row in rows]


async def post_to_both_routes(stage: Stage, body: object, headers: dict[str, str]) -> list[Answer]:
    return [await stage.client.post(path, body, headers) for path in ROUTES]


def assert_both_refused(answers: list[Answer], status: int, reason: Reason) -> None:
    """Assert that both responses have the status and the body of a refusal."""
    verdict, outcome = answers
    assert (verdict.status, outcome.status) == (status, status), (verdict.body, outcome.body)
    sentence = REGISTRY[reason].sentence
    assert verdict.json() == {
        "isValid": False,
        "invalidReason": reason,
        "invalidMessage": sentence,
    }
    assert outcome.json() == {
        "success": False,
        "errorReason": reason,
        "errorMessage": sentence,
        "transaction": "",
        "network": "",
    }
