"""Owners of plans: classic accounts and smart accounts, what they sign, and their requests."""

import asyncio
import json
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from stellar_sdk import TransactionEnvelope, xdr

from farebox.buyer.authorization import authorize
from farebox.buyer.offer import Option, UnreadableOffer, read_offer
from farebox.buyer.pay import payment_payload
from farebox.buyer.wallet import wallet_of
from farebox.kernel.secret import Secret
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.x402.headers import encode_header
from testing.automation_chain import NET
from testing.contracts import Entry
from testing.entries import address_of
from testing.machine import RunFailed
from testing.smart_accounts import Owner

PLANS: Final = "/v1/automations"
_CHALLENGE_LIFE: Final = 60  # ledgers
_HTTP_S: Final = 60
_PENDING_LOOKS: Final = 40
_PENDING_S: Final = 0.5
Json = dict[str, Any]


class Client:
    """The HTTP requests of a signed-in owner, and the payments of one payer."""

    def __init__(self, http: aiohttp.ClientSession, service: str, owner: Owner) -> None:
        self.owner = owner
        self._http, self._service = http, service
        self._token = ""

    def through(self, service: str) -> "Client":
        """The same signed-in owner at another replica of the service."""
        other = Client(self._http, service, self.owner)
        other._token = self._token
        return other

    async def sign_in(self, ledger: int) -> None:
        """Sign in by SEP-10, or with a contract account by SEP-45."""
        url = f"{self._service}/v1/auth/{NET.label}"
        domain = urlsplit(self._service).hostname or ""
        query = {"account": self.owner.account, "home_domain": domain}
        async with self._http.get(url, params=query) as response:
            challenge = await _json(response, "a challenge")
        if self.owner.generation:
            body = {"authorization_entries": self._entries(challenge, ledger)}
        else:
            envelope = TransactionEnvelope.from_xdr(challenge["transaction"], NET.passphrase)
            envelope.sign(self.owner.key)
            body = {"transaction": envelope.to_xdr()}
        async with self._http.post(url, json=body) as response:
            self._token = str((await _json(response, "a sign-in"))["token"])

    def _entries(self, challenge: Json, ledger: int) -> str:
        found = xdr.SorobanAuthorizationEntries.from_xdr(challenge["authorization_entries"])
        entries = found.soroban_authorization_entries
        signed = [
            Entry.from_xdr(self.owner.sign(each.to_xdr(), until=ledger + _CHALLENGE_LIFE))
            if address_of(each) == self.owner.account
            else each
            for each in entries
        ]
        return xdr.SorobanAuthorizationEntries(signed).to_xdr()

    async def get(self, path: str) -> Json:
        """Read something below the plans' path."""
        return (await self.send("GET", path, None))[1]

    async def post(self, path: str, body: object, *wanted: int) -> Json:
        """Send a body that must be answered with one of these statuses, or with 200.

        Raises:
            RunFailed: it is answered otherwise.
        """
        status, found, _ = await self.send("POST", path, body)
        if status not in (wanted or (200,)):
            raise RunFailed(f"POST {path}: {status} {json.dumps(found.get('error', found))[:400]}")
        return found

    async def send(
        self, method: str, path: str, body: object, **headers: str
    ) -> tuple[int, Json, str]:
        """Send a request; status, body and the price that a 402 names."""
        sent = {"Authorization": f"Bearer {self._token}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        async with self._http.request(
            method, self._service + PLANS + path, json=body, headers=sent
        ) as response:
            found: Json = json.loads(await response.read() or b"{}")
            return response.status, found, response.headers.get("PAYMENT-REQUIRED", "")

    async def pay(self, plan: str, payer: Secret[str], node: SorobanRpc) -> Json:
        """Pay for the runs of a plan by x402; the response.

        Raises:
            RunFailed: nothing is to be paid, or the payment is refused.
        """
        path = f"/{plan}/payment"
        status, body, header = await self.send("POST", path, {})
        if status != 402:
            raise RunFailed(f"POST {path}: {status} {body} asks for no payment")
        status, body = await self.pay_offer(path, {}, header, payer, node)
        if status != 200:
            raise RunFailed(f"the payment is answered {status} {body}")
        return body

    async def pay_offer(
        self, path: str, body: object, header: str, payer: Secret[str], node: SorobanRpc
    ) -> tuple[int, Json]:
        """Pay the offer of a 402, with the request that it has answered; the answer.

        Raises:
            RunFailed: the offer cannot be paid.
        """
        offer = read_offer(header or None)
        if isinstance(offer, UnreadableOffer):
            raise RunFailed(f"POST {path} has an offer that cannot be read")
        option = offer.options[0]
        if not isinstance(option, Option):
            raise RunFailed(f"the price cannot be paid: {option.reason}")
        signed = await authorize(option.terms, wallet_of(payer), node)
        payment = encode_header(payment_payload(offer, option, signed))
        status, found, _ = await self.send("POST", path, body, payment_signature=payment)
        for _ in range(_PENDING_LOOKS):  # a payment under way is answered 202
            if status != 202:
                break
            await asyncio.sleep(_PENDING_S)
            status, found, _ = await self.send("POST", path, body, payment_signature=payment)
        return status, found


async def _json(response: aiohttp.ClientResponse, what: str) -> Json:
    if response.status != 200:
        raise RunFailed(f"{what} is refused: {response.status} {(await response.text())[:300]}")
    found: Json = await response.json()
    return found


def open_http() -> aiohttp.ClientSession:
    """Open a session whose requests all have a deadline; close it afterwards."""
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_HTTP_S))
