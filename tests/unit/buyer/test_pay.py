"""The flow of a paid request, with a seller that records its calls and a node with a ledger."""

import base64
from dataclasses import dataclass, field
from typing import Any

import pytest
from stellar_sdk import Keypair

from farebox.buyer.choose import BuyerPreferences
from farebox.buyer.offer import Offer, Option
from farebox.buyer.outcome import NothingToPay, Outcome, Paid, PaymentRefused, Undecided, Unpaid
from farebox.buyer.pay import Buyer, LedgerLooker, repeat_payment
from farebox.buyer.seller_client import SellerRequest, SellerResponse, SellerUnavailable
from farebox.buyer.signed_payment import PaymentFileRefused, SignedPayment
from farebox.buyer.wallet import wallet_of
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.authorization_use import read_authorized_transfer
from farebox.x402.headers import decode_header, encode_header
from support.buyer_ledger import BuyerNode, landing
from support.manual_clock import ManualClock
from support.offers import offer_header, option_json

WALLET = wallet_of(Secret(Keypair.random().secret))
HASH = "ab" * 32
REQUEST = SellerRequest("http://seller.test/weather", headers={"Accept": "text/plain"})
LOST = SellerUnavailable("It stopped.", certainly_not_sent=False)


@dataclass
class RecordingApprover:
    agreed: bool = True
    fault: PaymentFileRefused | None = None
    events: list[str] = field(default_factory=list)
    payments: list[SignedPayment] = field(default_factory=list)

    async def approve(self, offer: Offer, option: Option) -> bool:
        self.events.append("approve")
        return self.agreed

    def on_signed(self, payment: SignedPayment) -> None:
        self.events.append("signed")
        self.payments.append(payment)
        if self.fault is not None:
            raise self.fault


class RecordingWeb:
    """A seller that gives these answers in order."""

    def __init__(
        self, *answers: SellerResponse | SellerUnavailable, lands_on: BuyerNode | None = None
    ) -> None:
        """`lands_on`: every payment lands on this node's ledger, whatever is answered."""
        self._answers, self._node = list(answers), lands_on
        self.seen: list[tuple[SellerRequest, str | None]] = []

    async def send(
        self, request: SellerRequest, payment: Secret[str] | None = None
    ) -> SellerResponse:
        self.seen.append((request, payment.reveal() if payment else None))
        if payment is not None and self._node is not None:
            land(self._node, payment.reveal())
        answer = self._answers.pop(0)
        if isinstance(answer, SellerUnavailable):
            raise answer
        return answer


def response_402(**changes: object) -> SellerResponse:
    return SellerResponse(402, b"{}", payment_required=offer_header(option_json(), **changes))


def answers(status: int, receipt: dict[str, object] | None = None) -> SellerResponse:
    header = encode_header(receipt) if receipt is not None else None
    return SellerResponse(status, b"sunny", payment_response=header)


def success(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {"success": True, "transaction": HASH, "network": "stellar:testnet"}
    return body | {"payer": WALLET.address} | changes


PREFERENCES = BuyerPreferences((Network.TESTNET,))


def land(node: BuyerNode, header: str) -> None:
    """Put a payment on the ledger, in the node's newest one."""
    payload: Any = decode_header(header)
    envelope = payload["payload"]["transaction"]
    transfer = read_authorized_transfer(base64.b64decode(envelope), Network.TESTNET)
    assert transfer is not None
    node.used_in = node.latest
    node.landed.append(landing(transfer, envelope, node.latest))


async def pay(
    web: RecordingWeb, node: BuyerNode | None = None, approver: RecordingApprover | None = None
) -> Outcome:
    """Pay at this seller; the node is of an empty ledger unless one is given."""
    networks = {Network.TESTNET: node or BuyerNode()}
    buyer = Buyer(WALLET, web, networks, clock=ManualClock())
    return await buyer.pay(REQUEST, PREFERENCES, approver or RecordingApprover())


async def test_pay_pays_once_and_the_ledger_names_the_transaction() -> None:
    node, approver = BuyerNode(), RecordingApprover()
    web = RecordingWeb(response_402(), answers(200, success()), lands_on=node)
    outcome = await pay(web, node, approver)
    assert isinstance(outcome, Paid)
    assert outcome.response is not None
    assert (outcome.transaction, outcome.response.body) == (node.landed[0].tx_hash, b"sunny")
    assert approver.events == ["approve", "signed"]
    (first, unpaid), (second, payment) = web.seen
    assert first == second == REQUEST
    assert unpaid is None
    assert payment == approver.payments[0].header.reveal()


async def test_payment_repeats_the_sellers_terms_resource_and_extensions() -> None:
    web = RecordingWeb(response_402(extensions={"bazaar": {"info": 1}}), answers(200, success()))
    await pay(web)
    payload: Any = decode_header(web.seen[1][1] or "")
    assert list(payload.pop("payload")) == ["transaction"]
    identifier = payload["extensions"].pop("payment-identifier")
    assert len(identifier["info"]["id"]) == 36
    assert payload == {
        "x402Version": 2,
        "accepted": option_json(),
        "resource": {"url": "http://seller.test/weather", "description": "Forecast"},
        "extensions": {"bazaar": {"info": 1}},
    }


@pytest.mark.parametrize(
    ("offered_s", "max_life_s", "ledgers"), [(60, 300, 12), (900, 300, 60), (900, 60, 12)]
)
async def test_signature_lives_as_long_as_the_buyer_says_and_never_longer_than_offered(
    offered_s: int, max_life_s: int, ledgers: int
) -> None:
    option = option_json(maxTimeoutSeconds=offered_s)
    web = RecordingWeb(SellerResponse(402, b"", payment_required=offer_header(option)), LOST)
    networks = {Network.TESTNET: BuyerNode()}
    buyer = Buyer(WALLET, web, networks, max_life_s=max_life_s, clock=ManualClock())
    outcome = await buyer.pay(REQUEST, PREFERENCES, RecordingApprover())
    assert isinstance(outcome, Undecided)
    assert outcome.payment.transfer.expires_at_ledger == 1000 + ledgers


async def test_pay_returns_a_free_response_without_approval() -> None:
    web, approver = RecordingWeb(answers(200)), RecordingApprover()
    assert await pay(web, approver=approver) == NothingToPay(answers(200))
    assert approver.events == []


async def test_pay_signs_nothing_when_the_price_is_declined() -> None:
    web, approver = RecordingWeb(response_402()), RecordingApprover(agreed=False)
    assert isinstance(await pay(web, approver=approver), Unpaid)
    assert approver.events == ["approve"]
    assert len(web.seen) == 1


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (SellerResponse(402, b"{}"), "price cannot be read: the 402 carries no PAYMENT-REQUIRED"),
        (
            response_402(accepts=[option_json(scheme="upto")]),
            "None of the seller's payment options",
        ),
        (SellerUnavailable("Nothing answers.", certainly_not_sent=True), "Nothing answers."),
        (LOST, "It stopped."),
    ],
)
async def test_pay_is_unpaid_after_any_fault_before_the_signature(
    first: SellerResponse | SellerUnavailable, why: str
) -> None:
    web, approver = RecordingWeb(first), RecordingApprover()
    outcome = await pay(web, approver=approver)
    assert isinstance(outcome, Unpaid)
    assert why in outcome.reason
    assert approver.events == []


async def test_pay_is_unpaid_when_the_network_is_unavailable() -> None:
    web, approver = RecordingWeb(response_402()), RecordingApprover()
    outcome = await pay(web, BuyerNode(is_away=True), approver)
    assert outcome == Unpaid("the node is away")
    assert approver.events == ["approve"]
    assert len(web.seen) == 1


async def test_payment_that_cannot_be_kept_is_not_sent() -> None:
    web, approver = RecordingWeb(response_402()), RecordingApprover(fault=PaymentFileRefused("No."))
    assert await pay(web, approver=approver) == Unpaid("No.")
    assert len(web.seen) == 1


async def test_lost_response_is_undecided_and_nothing_is_sent_again() -> None:
    web = RecordingWeb(response_402(), LOST)
    outcome = await pay(web)
    assert isinstance(outcome, Undecided)
    assert (outcome.reported, outcome.payment.transfer.expires_at_ledger) == ("", 1012)
    assert len(web.seen) == 2


async def test_lost_response_of_a_payment_that_landed_is_paid() -> None:
    node = BuyerNode()
    outcome = await pay(RecordingWeb(response_402(), LOST, lands_on=node), node)
    assert outcome == Paid(node.landed[0].tx_hash, None)


async def test_pay_is_unpaid_when_the_payment_was_certainly_not_sent() -> None:
    fault = SellerUnavailable("Nothing answers.", certainly_not_sent=True)
    assert await pay(RecordingWeb(response_402(), fault)) == Unpaid("Nothing answers.")


async def test_ledger_that_shows_the_payment_later_is_waited_for() -> None:
    node = BuyerNode()
    web = RecordingWeb(response_402(), answers(200, success()))

    class SlowClock(ManualClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            if len(self.slept) == 4:
                land(node, web.seen[1][1] or "")

    buyer = Buyer(WALLET, web, {Network.TESTNET: node}, clock=SlowClock())
    assert isinstance(await buyer.pay(REQUEST, PREFERENCES, RecordingApprover()), Paid)


async def test_repeated_payment_has_the_very_same_bytes_and_is_judged_by_the_ledger() -> None:
    node, approver = BuyerNode(), RecordingApprover()
    first = await pay(RecordingWeb(response_402(), answers(502)), node, approver)
    assert isinstance(first, Undecided)
    (payment,) = approver.payments
    looker = LedgerLooker(node, ManualClock(), wait_s=0)
    unsent = SellerUnavailable("Nothing answers.", certainly_not_sent=True)
    again = await repeat_payment(RecordingWeb(unsent), payment, looker)
    assert isinstance(again, Undecided)  # the first one was sent
    web = RecordingWeb(answers(200, success()), lands_on=node)
    assert isinstance(await repeat_payment(web, payment, looker), Paid)
    assert web.seen == [(REQUEST, payment.header.reveal())]


async def test_look_at_an_expired_payment_that_never_landed_is_refused() -> None:
    node, approver = BuyerNode(), RecordingApprover()
    await pay(RecordingWeb(response_402(), answers(402)), node, approver)
    node.latest = 1013
    looker = LedgerLooker(node, ManualClock(), wait_s=0)
    outcome = await looker.conclude(approver.payments[0])
    assert outcome == PaymentRefused("no ledger has it", approver.payments[0], None)
