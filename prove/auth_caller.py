"""Somebody who signs in, has keys, and shows whatever was given out."""

import time
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import msgspec
from stellar_sdk import Keypair, TransactionEnvelope

from e2e.machine import RunFailed
from farebox.kernel.caller import OwnerId, user_id
from farebox.kernel.secret import Secret
from prove.world import NETWORK

KEYS: Final = "/v1/api-keys"
_ANSWER_S: Final = 30.0
_TIMEOUT: Final = aiohttp.ClientTimeout(total=_ANSWER_S)
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, and when its request went out and it came in."""

    status: int
    body: dict[str, Any]
    sent_at: float
    told_at: float

    @property
    def code(self) -> str:
        """Why it is refused."""
        error = self.body.get("error")
        return str(error["code"]) if isinstance(error, dict) else ""

    def __str__(self) -> str:
        return f"{self.status} {self.code}".rstrip()


class Asker:
    """Asks any replica; `requests` counts."""

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
    ) -> Told:
        """The answer; status 0 when none came."""
        headers = {} if token is None else {"authorization": f"Bearer {token.reveal()}"}
        body = None if value is None else msgspec.json.encode(value)
        self.requests += 1
        sent_at = time.monotonic()
        try:
            async with self._web.request(
                method, url + path, data=body, headers=headers, timeout=_TIMEOUT
            ) as answer:
                told = _decode(await answer.read())
                return Told(answer.status, told, sent_at, time.monotonic())
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError):
            return Told(0, {}, sent_at, time.monotonic())

    async def is_taken(self, url: str, token: Secret[str]) -> tuple[bool, Told]:
        """Whether a session or key lets its holder in; a key is told that it may not list keys."""
        told = await self.ask(url, "GET", KEYS, token=token)
        return told.status in (200, 403), told

    async def signed_challenge(self, url: str, wallet: Keypair) -> dict[str, str]:
        """A fresh challenge for the wallet, signed by it: what is sent back."""
        asked = {"network": NETWORK.value, "address": wallet.public_key}
        told = await self.ask(url, "POST", "/v1/auth/challenge", value=asked)
        if told.status != 200:
            raise RunFailed(f"no challenge was given: {told}")
        envelope = TransactionEnvelope.from_xdr(told.body["transactionXdr"], NETWORK.passphrase)
        envelope.sign(wallet)
        return {"network": NETWORK.value, "transactionXdr": envelope.to_xdr()}

    async def sign_in(self, url: str) -> "Holder":
        """A new wallet, signed in."""
        wallet = Keypair.random()
        signed = await self.signed_challenge(url, wallet)
        told = await self.ask(url, "POST", "/v1/auth/verify", value=signed)
        if told.status != 200:
            raise RunFailed(f"nobody could sign in: {told}")
        return Holder(owner_of(wallet), Secret(told.body["token"]))

    async def key(self, url: str, holder: "Holder", name: str) -> "HeldKey":
        """A new key of the wallet's."""
        told = await self.ask(url, "POST", KEYS, token=holder.session, value={"name": name})
        if told.status != 201:
            raise RunFailed(f"no key was made: {told}")
        return HeldKey(told.body["id"], Secret(told.body["key"]))


def owner_of(wallet: Keypair) -> OwnerId:
    """Whose records those of a wallet are."""
    return user_id(NETWORK, wallet.public_key)


@dataclass(frozen=True, slots=True)
class Holder:
    """Somebody who has signed in."""

    owner: OwnerId
    session: Secret[str]


@dataclass(frozen=True, slots=True)
class HeldKey:
    """A key as whoever holds it knows it."""

    id: str
    token: Secret[str]
