"""The gateway's endpoint in process, in front of a TLS upstream, with a scripted settler."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import structlog
from starlette.types import Receive, Scope, Send

from farebox.facilitator.settlement import NotSettled, PaymentIdentity, Settled, SettleOutcome
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.facilitator.verification.verdict import Accepted, SignedTransfer
from farebox.gateway.analytics.request_recorder import RequestRecorder
from farebox.gateway.delivery.deliver import Deliverer
from farebox.gateway.delivery.keep_response import ResponseKeeper
from farebox.gateway.delivery.pay import Payer
from farebox.gateway.http import GatewayBeforeRoutes, GatewayEndpoint
from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.past_purchases import PastPurchases
from farebox.gateway.relay.breaker import UpstreamBreaker
from farebox.gateway.relay.received_body import SPOOL_BYTES, BodySpool
from farebox.gateway.relay.relay import Relay, UpstreamSlots
from farebox.gateway.respond import GatewayParts
from farebox.gateway.upstream_credentials import UpstreamCredentials
from farebox.gateway.wrapper import Wrapper
from farebox.gateway.wrappers.enabled_wrappers import EnabledWrappers
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller
from farebox.kernel.clock import SystemClock
from farebox.outbound.client import MAX_CALLS
from farebox.storage.pool import Database
from farebox.vault.sealed_bytes import ByteSealer
from farebox.vault.sealing import Sealer
from farebox.web.client_address import ClientAddress
from farebox.web.error_responses import ErrorMiddleware
from farebox.web.request_context import RequestLog
from farebox.x402.payment import Payment
from support.asgi import Answer, AsgiClient
from support.gateway_payments import HASH, ScriptedSettler
from support.journal_rows import Paid, insert_settlement
from support.outbound import Seller, seller
from support.payment_headers import payment_header, required
from support.upstream import Answer as UpstreamAnswer
from support.upstream import answers
from support.vault import OLD, keys, vault_replica
from support.wrappers import OTHER_PAY_TO

ORIGIN: Final = "https://pay.example.com"
Outcome = SettleOutcome | Exception
OutcomeOf = Callable[[PaymentIdentity, bytes], Awaitable[Outcome]]


def lands(database: Database) -> OutcomeOf:
    """Every payment lands: its confirmed settlement is in the journal."""

    async def outcome_of(identity: PaymentIdentity, digest: bytes) -> Outcome:
        async with database.connection() as db:
            known = await db.fetchval(
                "SELECT true FROM settlements WHERE nonce = $1", identity.nonce
            )
        if not known:
            inserted = await insert_settlement(database, Paid(payer=identity.payer))
            async with database.connection() as db:
                await db.execute(
                    "UPDATE settlements SET nonce = $2, request_digest = $3 WHERE nonce = $1",
                    inserted.nonce,
                    identity.nonce,
                    digest,
                )
        return Settled(identity, digest, HASH)

    return outcome_of


class HeldSettlement:
    """Every payment lands, once `gate` is open; `settling` is set when one is to be settled."""

    def __init__(self, database: Database) -> None:
        self.settling, self.gate = asyncio.Event(), asyncio.Event()
        self._land = lands(database)

    async def __call__(self, identity: PaymentIdentity, digest: bytes) -> Outcome:
        self.settling.set()
        await self.gate.wait()
        return await self._land(identity, digest)


def always(outcome: Outcome) -> OutcomeOf:
    """Every payment has this outcome."""

    async def outcome_of(identity: PaymentIdentity, digest: bytes) -> Outcome:
        return outcome

    return outcome_of


@dataclass(frozen=True, slots=True)
class ScriptedTransfer:
    """The signed transfer of a payment whose transaction is any text."""

    payment: Payment


class IdentifyingSettler(ScriptedSettler):
    """Takes each transaction text for a payment of its own; `outcome_of` makes the outcomes."""

    def __init__(self, outcome_of: OutcomeOf, refusal: NotSettled | None = None) -> None:
        super().__init__(ValueError("made by outcome_of"))
        self.outcome_of, self._refusal = outcome_of, refusal

    def identify(
        self, payment: Payment, *, key: str | None, caller: Caller | None, client: str
    ) -> SettleRequest | NotSettled:
        """Derive the identity from the transaction's bytes."""
        if self._refusal is not None:
            return self._refusal
        nonce = int.from_bytes(hashlib.sha256(payment.transaction.reveal()).digest()[:7])
        identity = PaymentIdentity(payment.terms.network, Address(OTHER_PAY_TO), nonce)
        transfer = cast(SignedTransfer, ScriptedTransfer(payment))
        return SettleRequest(transfer, identity, caller=caller, client=client)

    async def settle(
        self, request: SettleRequest, *, accepted: Accepted | None = None
    ) -> SettleOutcome:
        """Return or raise the outcome of this payment."""
        self.settled.append(request)
        outcome = await self.outcome_of(request.identity, request.digest)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@dataclass(slots=True)
class GatewayBench:
    """A gateway, its upstream and its settler."""

    client: AsgiClient
    seller: Seller
    settler: IdentifyingSettler
    wrapper: Wrapper
    recorder: RequestRecorder
    wrappers: EnabledWrappers
    slots: UpstreamSlots
    spool: BodySpool
    paid: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The path of the wrapper."""
        return f"/gateway/{self.wrapper.slug}"

    async def offer(self, path: str = "", method: str = "GET") -> Answer:
        """An unpaid request."""
        return await self.client.request(method, self.url + path)

    async def pay(
        self,
        path: str = "",
        *,
        method: str = "GET",
        payment: str = "one",
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """A paid request; equal `payment` texts are the same payment, by the terms of its offer."""
        if payment not in self.paid:
            self.paid[payment] = signature(await self.offer(path, method), payment)
        sent = {"payment-signature": self.paid[payment], "content-type": "text/plain"}
        return await self.client.request(
            method, self.url + path, body=body, headers=sent | dict(headers or {})
        )


Opened = Callable[..., AbstractAsyncContextManager[GatewayBench]]


def code_of(answer: Answer) -> str:
    """The error code of a response."""
    return str(answer.json()["error"]["code"])


def sent(bench: GatewayBench) -> list[bytes]:
    """The requests that reached the upstream."""
    return bench.seller.upstream.requests


def signature(offered: Answer, payment: str) -> str:
    """The `PAYMENT-SIGNATURE` of a payment for the first terms of an offer."""
    accepted = required(offered)["accepts"][0]
    return payment_header(accepted, base64.b64encode(payment.encode()).decode())


@asynccontextmanager
async def gateway(
    database: Database,
    folder: Path,
    wrapper: Wrapper,
    outcome_of: OutcomeOf,
    *,
    answer: UpstreamAnswer | None = None,
    refusal: NotSettled | None = None,
    slots: int = MAX_CALLS,
    spool_bytes: int = SPOOL_BYTES,
) -> AsyncIterator[GatewayBench]:
    """A gateway for one wrapper, whose upstream is a server on loopback."""
    clock, held = SystemClock(), UpstreamSlots(slots)
    keeper = ResponseKeeper(database, ByteSealer(Sealer(keys(OLD), domain="gateway response")))
    settler = IdentifyingSettler(outcome_of, refusal)
    async with seller(folder, answer or answers(b"sunny")) as at:
        relay = Relay(at.client, held, UpstreamBreaker(), clock)
        payer, wrappers = Payer(database, settler, keeper, clock), EnabledWrappers(database, clock)
        spool = BodySpool(spool_bytes)
        parts = GatewayParts(
            wrappers=wrappers,
            credentials=UpstreamCredentials(vault_replica(database).reader),
            settler=settler,
            payer=payer,
            relay=relay,
            deliverer=Deliverer(database, relay, keeper, clock),
            past=PastPurchases(settler, payer, GatewayUrl(ORIGIN), spool),
            spool=spool,
            url=GatewayUrl(ORIGIN),
        )
        recorder = RequestRecorder(database, clock)
        endpoint = GatewayEndpoint(parts, recorder, clock, _not_counted)
        app = ErrorMiddleware(GatewayBeforeRoutes(endpoint, _no_route), {})
        logged = RequestLog(ClientAddress(app, ()), structlog.get_logger())
        yield GatewayBench(
            AsgiClient(logged), at, settler, wrapper, recorder, wrappers, held, spool
        )


async def _not_counted(scope: Scope) -> None:
    return


async def _no_route(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("a request beside the gateway")
