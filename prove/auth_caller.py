"""A client of the account routes: it signs in, creates keys and presents credentials."""

import time
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import msgspec
from stellar_sdk import Keypair, TransactionEnvelope

from farebox.kernel.caller import OwnerId, user_id
from farebox.kernel.secret import Secret
from prove.world import NETWORK
from testing.machine import RunFailed

KEYS: Final = "/v1/api-keys"
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

    async def sign_in(self, url: str) -> "Holder":
        """Sign in with a new wallet."""
        wallet = Keypair.random()
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
