"""A service that asks for keys, and callers who have them."""

import asyncio
import hashlib
import itertools
import time
from collections.abc import Mapping
from typing import Any, Final

from stellar_sdk import Keypair

from farebox.accounts.token import TokenForm, new_token
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
    "FAREBOX_BUDGET_KEY_STROOPS_PUBNET": "1",
}


def somewhere() -> dict[str, str]:
    """A header that says a request comes from an address nobody else has in this run."""
    number = next(_numbers)
    return {"x-forwarded-for": f"198.18.{number // 250}.{number % 250 + 1}"}


def bearer(token: str) -> dict[str, str]:
    """The header that shows a credential, from an address of its own."""
    return {"authorization": f"Bearer {token}", **somewhere()}


async def key(stage: Stage, *scopes: str, owner: OwnerId = OWNERS[0]) -> str:
    """A new personal key of an owner's, with these scopes."""
    made, name = new_token(TokenForm.KEY), f"key {next(_numbers)}"
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
    return made.shown.reveal()


async def session(stage: Stage) -> tuple[str, OwnerId]:
    """A wallet's new session, and whose it is."""
    address = Keypair.random().public_key
    made, owner = new_token(TokenForm.SESSION), user_id(Network.TESTNET, address)
    await stage.query(
        "INSERT INTO users (id, network, address) VALUES ($1, $2, $3)",
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
    return made.shown.reveal(), owner


async def within_a_minute() -> None:
    """Return when the minute that requests are counted by has some seconds left."""
    left_s = 60 - time.time() % 60
    if left_s < _SOME_S:
        await asyncio.sleep(left_s + 0.01)


async def usage(stage: Stage, headers: Mapping[str, str], query: str = "") -> Answer:
    """What a caller is told of its use."""
    return await stage.client.request("GET", f"/v1/usage{query}", headers=headers)


async def settled_for(stage: Stage) -> list[tuple[OwnerId | None, str]]:
    """Who asked for the settlements there are, and their states."""
    rows: list[Any] = await stage.query("SELECT caller, state FROM settlements ORDER BY claimed_at")
    return [(row["caller"], row["state"]) for row in rows]


async def asked(stage: Stage, body: object, headers: dict[str, str]) -> list[Answer]:
    return [await stage.client.post(path, body, headers) for path in ROUTES]


def turned_away(answers: list[Answer], status: int, reason: Reason) -> None:
    """Both answers have the status, and are valid failing verdicts."""
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
