"""A scripted seller: it takes a payment, lets it land or not, and answers anything."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from aiohttp import web
from stellar_sdk import InvokeHostFunction, Keypair, TransactionEnvelope

from farebox.kernel.networks import Network
from prove.ask_node import land_operation
from prove.environment import AMOUNT, Environment
from prove.world import NETWORK
from testing.payment_terms import payment_requirements
from testing.servers import serving

LIFE_S: Final = 3600
_EXPIRES_S: Final = 60  # of an authorization that expires before the answer
_EXPIRED_LEDGERS: Final = 40
_WITHOUT_BODY: Final = (204, 304)
_PAGE: Final = b"<html><body><h1>Forbidden</h1></body></html>"
_NOTHING_SENT: Final = b'{"error": {"code": "not_sent", "message": "Nothing was sent."}}'


class PaymentFate(StrEnum):
    """What the seller lets happen to the payment before it answers."""

    LANDED = "landed"
    OPEN = "may land yet"
    EXPIRED = "expired unused"


class ReceiptKind(StrEnum):
    """The receipt in the seller's answer."""

    NONE = "none"
    TRUE = "of the transaction"
    MADE_UP = "of a made-up transaction"
    OTHER_NETWORK = "of another network"
    FAILED = "of a failure"
    PENDING = "of a pending settlement"
    DUPLICATE = "of a duplicate"
    GARBAGE = "that is no receipt"


class Form(StrEnum):
    """The rest of the seller's answer."""

    JSON = "JSON that says that nothing was sent"
    HTML = "a proxy's page"
    OFFER = "a new offer"
    CUT = "cut off"


@dataclass(frozen=True, slots=True)
class ReportCase:
    """One answer of a seller, and the buyer's clock."""

    number: int
    status: int
    settled: PaymentFate
    receipt: ReceiptKind
    shape: Form
    clock_s: int

    def __str__(self) -> str:
        return (
            f"answer {self.number}: {self.status}, {self.receipt} receipt, {self.shape}; the "
            f"payment is {self.settled}, the clock is {self.clock_s} s off"
        )


class ScriptedSeller:
    """Sells over plain HTTP on the loopback, and answers payments as the present case says."""

    def __init__(self, environment: Environment, asset: str, pay_to: str) -> None:
        self._environment, self._asset, self._pay_to = environment, asset, pay_to
        self.case: ReportCase | None = None
        self.url = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve inside this context."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        async with serving(app, shutdown_s=0.1) as url:
            self.url = f"{url}/item"
            yield

    def offer(self, *, life_s: int = LIFE_S) -> dict[str, Any]:
        """Return the seller's PaymentRequired."""
        terms = payment_requirements(NETWORK, self._asset, AMOUNT, self._pay_to, life_s)
        return {
            "x402Version": 2,
            "error": "Payment required",
            "resource": {"url": self.url, "description": "an item", "mimeType": "text/plain"},
            "accepts": [terms],
        }

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        case = self.case
        header = request.headers.get("PAYMENT-SIGNATURE")
        if case is None or header is None:
            life_s = _EXPIRES_S if case and case.settled is PaymentFate.EXPIRED else LIFE_S
            return web.json_response(
                {}, status=402, headers={"PAYMENT-REQUIRED": _encode(self.offer(life_s=life_s))}
            )
        tx_hash = await self._settle(case, header)
        return await self._answer(request, case, tx_hash)

    async def _settle(self, case: ReportCase, header: str) -> str:
        """Let the payment land or not; return the hash of its transaction."""
        payload = json.loads(base64.b64decode(header))
        envelope = TransactionEnvelope.from_xdr(
            payload["payload"]["transaction"], NETWORK.passphrase
        )
        (operation,) = envelope.transaction.operations
        if not isinstance(operation, InvokeHostFunction):
            raise TypeError(operation)
        devnet, tx_hash = self._environment.devnet, ""
        if case.settled is PaymentFate.LANDED:
            stranger = self._environment.world.prepared.scene.payers[-1]
            key = Keypair.from_secret(stranger.secret.reveal())
            tx_hash = await land_operation(self._environment, operation, key)
        count = _EXPIRED_LEDGERS if case.settled is PaymentFate.EXPIRED else 1
        await devnet.close(count)
        return tx_hash

    async def _answer(
        self, request: web.Request, case: ReportCase, tx_hash: str
    ) -> web.StreamResponse:
        headers = {}
        receipt = _receipt_of(case.receipt, tx_hash)
        if receipt is not None:
            headers["PAYMENT-RESPONSE"] = receipt
        if case.shape is Form.OFFER:
            headers["PAYMENT-REQUIRED"] = _encode(self.offer())
        if case.shape is Form.CUT:
            headers["Content-Length"] = "1000"
            response = web.StreamResponse(status=case.status, headers=headers)
            await response.prepare(request)
            if request.transport is not None:
                request.transport.abort()
            return response
        kind = "text/html" if case.shape is Form.HTML else "application/json"
        body = _PAGE if case.shape is Form.HTML else _NOTHING_SENT
        headers["Content-Type"] = kind
        return web.Response(
            status=case.status, body=b"" if case.status in _WITHOUT_BODY else body, headers=headers
        )


def _receipt_of(receipt: ReceiptKind, tx_hash: str) -> str | None:
    made_up, network = "ab" * 32, NETWORK.value
    failure = {"success": False, "transaction": "", "network": network}
    match receipt:
        case ReceiptKind.NONE:
            return None
        case ReceiptKind.TRUE | ReceiptKind.MADE_UP:
            named = tx_hash if receipt is ReceiptKind.TRUE and tx_hash else made_up
            return _encode({"success": True, "transaction": named, "network": network})
        case ReceiptKind.OTHER_NETWORK:
            other = Network.PUBNET.value
            return _encode({"success": True, "transaction": tx_hash or made_up, "network": other})
        case ReceiptKind.FAILED:
            return _encode(failure | {"errorReason": "invalid_exact_stellar_signature_expired"})
        case ReceiptKind.PENDING:
            return _encode(failure | {"errorReason": "settlement_pending", "transaction": made_up})
        case ReceiptKind.DUPLICATE:
            return _encode(failure | {"errorReason": "duplicate_settlement"})
        case ReceiptKind.GARBAGE:
            return "%%% no receipt"


def _encode(value: object) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()
