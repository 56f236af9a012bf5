"""Reports of buyers: `farebox pay` and `paid_call` against the ledger, over every answer.

A scripted seller takes a payment, lets it land or not, and answers anything. What the buyer says
then is held against the ledger: it may never say that it was not paid, or that it may sign anew,
while the payment has landed or can land; and never that it was paid where it was not.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from unittest.mock import patch

from farebox.buyer.choose import BuyerPreferences
from farebox.buyer.offer import Offer, Option
from farebox.buyer.outcome import (
    NothingToPay,
    Outcome,
    Paid,
    PaymentRefused,
    Undecided,
    Unpaid,
    judge_payment,
)
from farebox.buyer.pay import Buyer
from farebox.buyer.seller_client import (
    HttpSellerClient,
    SellerRequest,
    SellerResponse,
    SellerUnavailable,
)
from farebox.buyer.signed_payment import SignedPayment
from farebox.buyer.wallet import Wallet
from farebox.kernel.addresses import Address
from farebox.kernel.clock import SystemClock
from farebox.kernel.secret import Secret
from farebox.mcp.call_response import CallOutcome, NextAction
from farebox.mcp.call_target import listing_key
from farebox.stellar.authorization_use import AuthorizationUse
from farebox.stellar.rpc_http import HttpSorobanRpc
from prove.ask_node import read_newest
from prove.delivery_case import DeliveryOutcome
from prove.delivery_seller import LIFE_S, Form, PaymentFate, ReceiptKind, ReportCase, ScriptedSeller
from prove.delivery_verdict import DeliveryViolation
from prove.environment import Environment, Replica, open_environment
from prove.outcome import findings_of
from prove.payment_check import group_by_payment, read_ledger
from prove.world import NETWORK, World
from testing.listing_row import list_resource
from testing.machine import RunFailed

_ALL_STATUSES: Final = (
    *(200, 201, 202, 204, 301, 302, 304, 307),
    *(*range(400, 432), 451, *range(500, 512), 520, 524, 599),
)  # fmt: skip
_ANSWERS: Final = 9  # of a batch
_REFUSED, _FAILED = 400, 500
_ANSWER_S: Final = 20.0
_CLOCKS_S: Final = (-86_400, -180, 0, 180, 86_400)


class Report(StrEnum):
    """What a buyer says of its payment."""

    PAID = "paid"
    NOT_PAID = "not paid, and nothing can be charged"
    SIGN = "sign another payment"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ReportBatch:
    """The answers of one seed, played one after the other."""

    seed: int
    number: int
    is_gullible: bool = False  # the control: the buyer takes a seller's word for a disproof

    def __str__(self) -> str:
        return f"SEED={self.seed} CASE={self.number}: what buyers say of a seller's answers"

    def draw(self) -> list[ReportCase]:
        """Draw the answers: twenty seeds have each status with each settlement."""
        rng = random.Random(f"reports {self.seed}")
        turns = list(itertools.product(_ALL_STATUSES, PaymentFate))
        start = (self.seed - 1) * _ANSWERS
        return [
            ReportCase(
                start + n,
                *turns[(start + n) % len(turns)],
                rng.choice(list(ReceiptKind)),
                rng.choice(list(Form)),
                rng.choice(_CLOCKS_S),
            )
            for n in range(_ANSWERS)
        ]


class ShiftedClock(SystemClock):
    """A clock that is some seconds off."""

    def __init__(self, off_s: int) -> None:
        self._off = timedelta(seconds=off_s)

    def now(self) -> datetime:
        """The wall clock, as wrong as it is."""
        return super().now() + self._off


class _Approver:
    """Approves every price, and keeps what was signed."""

    def __init__(self) -> None:
        self.signed: SignedPayment | None = None

    async def approve(self, offer: Offer, option: Option) -> bool:
        """See `PaymentApprover`."""
        return True

    def on_signed(self, payment: SignedPayment) -> None:
        """See `PaymentApprover`."""
        self.signed = payment


@dataclass(slots=True)
class ReportDesk:
    """A seller, the two buyers, and a network on which nothing else happens."""

    environment: Environment
    replica: Replica
    seller: ScriptedSeller
    asset: Address
    wrong: list[str]
    reports: Counter[str]
    _turns: int = 0

    async def play(self, case: ReportCase) -> None:
        """Play one answer to both buyers, and hold what they say against the ledger."""
        self.seller.case = case
        for buyer, ask in (("farebox pay", self._pay), ("paid_call", self._call)):
            payment, report = await ask(case)
            is_landed = await self._has_landed(payment)
            can_land = not is_landed and await self._can_land(payment)
            self.reports[f"{buyer}: {report}"] += 1
            why = _fault_of(report, is_landed=is_landed, can_land=can_land)
            if why:
                self.wrong.append(f"{buyer} says {report!s} and {why}: {case}")

    async def _pay(self, case: ReportCase) -> tuple[SignedPayment, Report]:
        approver = _Approver()
        outcome = await self._buy(case, HttpSellerClient(timeout_s=_ANSWER_S), approver)
        return _signed(approver), _read_outcome(outcome)

    async def _buy(
        self, case: ReportCase, client: HttpSellerClient, approver: _Approver
    ) -> Outcome:
        async with (
            client,
            HttpSorobanRpc(NETWORK, Secret(self.environment.devnet.rpc_url)) as node,
        ):
            buyer = Buyer(
                self._next_wallet(),
                client,
                {NETWORK: node},
                wait_s=0.0,
                max_life_s=LIFE_S,
                clock=ShiftedClock(case.clock_s),
            )
            wanted = BuyerPreferences((NETWORK,), asset=self.asset)
            return await buyer.pay(SellerRequest(self.seller.url), wanted, approver)

    def _next_wallet(self) -> Wallet:
        payers = self.environment.world.prepared.scene.payers[:-1]
        self._turns += 1
        payer = payers[self._turns % len(payers)]
        return Wallet(payer.address, payer.secret)

    async def _call(self, case: ReportCase) -> tuple[SignedPayment, Report]:
        """Sign with our own buyer, and have the agent's tool carry the signature."""
        approver = _Approver()
        await self._buy(case, _KeepingClient(self.seller), approver)
        payment = _signed(approver)
        arguments = {"url": self.seller.url, "paymentSignature": payment.header.reveal()}
        call = {
            "jsonrpc": "2.0",
            "id": case.number,
            "method": "tools/call",
            "params": {"name": "paid_call", "arguments": arguments},
        }
        headers = {"accept": "application/json, text/event-stream"}
        async with self.environment.web.post(
            f"{self.replica.url}/mcp", json=call, headers=headers
        ) as response:
            answer = await response.json()
        return payment, _read_tool(answer)

    async def _has_landed(self, payment: SignedPayment) -> bool:
        own = group_by_payment(await read_ledger(self.environment))
        transfer = payment.transfer
        return any(each.is_success for each in own[transfer.payer, transfer.nonce])

    async def _can_land(self, payment: SignedPayment) -> bool:
        latest, _ = await read_newest(self.environment)
        return latest < payment.transfer.expires_at_ledger


class _KeepingClient(HttpSellerClient):
    """Reads the offer off the seller, and keeps the payment from it."""

    def __init__(self, seller: ScriptedSeller) -> None:
        super().__init__()
        self._seller = seller

    async def send(
        self, request: SellerRequest, payment: Secret[str] | None = None
    ) -> SellerResponse:
        """Send the request without a payment alone."""
        if payment is not None:
            raise SellerUnavailable("The payment is kept.", certainly_not_sent=True)
        return await super().send(request)


def _signed(approver: _Approver) -> SignedPayment:
    if approver.signed is None:
        raise RunFailed("a buyer signed no payment")
    return approver.signed


def _read_outcome(outcome: Outcome) -> Report:
    match outcome:
        case Paid():
            return Report.PAID
        case PaymentRefused() | Unpaid() | NothingToPay():
            return Report.NOT_PAID
        case Undecided():
            return Report.UNKNOWN


def _read_tool(answer: Mapping[str, Any]) -> Report:
    """Read the report of the agent's tool: its result, or the error's data."""
    shown = answer.get("result", {}).get("structuredContent")
    if shown is None:
        shown = answer["error"].get("data", {})
    if shown.get("isPaid") is True:
        return Report.PAID
    if shown.get("nextAction") == NextAction.SIGN:
        return Report.SIGN
    return Report.NOT_PAID if shown.get("outcome") == CallOutcome.NOT_SENT else Report.UNKNOWN


def _fault_of(report: Report, *, is_landed: bool, can_land: bool) -> str:
    if report is Report.PAID:
        return "" if is_landed else "it has not landed"
    if report in (Report.NOT_PAID, Report.SIGN):
        return "it has landed" if is_landed else "it can land yet" if can_land else ""
    return ""


@asynccontextmanager
async def open_desk(environment: Environment) -> AsyncIterator[ReportDesk]:
    """Open a seller that the catalog lists, and a replica whose agents may call it."""
    scene = environment.world.prepared.scene
    seller = ScriptedSeller(environment, scene.asset, scene.payees[0].address)
    environment.ledger_closer.pause()
    async with seller.serving():
        settings = {"FAREBOX_CATALOG_LOCAL": "1"}
        replica = await environment.start("reports", settings)
        async with environment.query_lock:
            await list_resource(
                environment.db, listing_key(seller.url), seller.url, "GET", {"type": "object"}
            )
        yield ReportDesk(environment, replica, seller, Address(scene.asset), [], Counter())


async def run_reports(world: World, batch: ReportBatch) -> DeliveryOutcome:
    """Play the answers of a batch; each of which something wrong was said is a finding."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    judge = _believe if batch.is_gullible else judge_payment
    async with open_environment(world) as environment, open_desk(environment) as desk:
        with patch("farebox.buyer.pay.judge_payment", judge):
            for case in batch.draw():
                await desk.play(case)
    said = ", ".join(f"{what}: {count}" for what, count in sorted(desk.reports.items()))
    return DeliveryOutcome(
        case=batch,
        state="reported",
        findings=findings_of({DeliveryViolation.TOLD_WRONG: desk.wrong}),
        answers=[said],
        took_s=loop.time() - began,
    )


def _believe(
    payment: SignedPayment,
    use: AuthorizationUse | None,
    response: SellerResponse | None,
    fault: str = "",
) -> Paid | PaymentRefused | Undecided:
    """Judge as before the ledger alone did: a seller's refusal is a disproof."""
    if response is not None and _REFUSED <= response.status < _FAILED:
        return PaymentRefused(fault, payment, response)
    return judge_payment(payment, use, response, fault)
