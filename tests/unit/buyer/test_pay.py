"""The flow of a paid request, with a seller and a network that record what they are asked."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from stellar_sdk import Keypair, xdr

from farebox.buyer.authorization import Authorization
from farebox.buyer.choose import Wishes
from farebox.buyer.offer import Offer, Option
from farebox.buyer.outcome import NothingToPay, NotTaken, Paid, Undecided, Unpaid
from farebox.buyer.pay import Buyer
from farebox.buyer.wallet import wallet_of
from farebox.buyer.web import SellerAway, WebAnswer, WebRequest
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import LatestLedger, RawSimulation, RpcUnavailable
from farebox.x402.headers import decode_header, encode_header
from support.offers import offer_header, option_json

WALLET = wallet_of(Secret(Keypair.random().secret))
HASH = "ab" * 32
REQUEST = WebRequest("http://seller.test/weather", headers={"Accept": "text/plain"})
RESOURCES = xdr.SorobanTransactionData(
    ext=xdr.SorobanTransactionDataExt(0),
    resources=xdr.SorobanResources(
        footprint=xdr.LedgerFootprint([], []),
        instructions=xdr.Uint32(1),
        disk_read_bytes=xdr.Uint32(1),
        write_bytes=xdr.Uint32(1),
    ),
    resource_fee=xdr.Int64(33_611),
).to_xdr()


class RecordingNode:
    def __init__(self, fault: RpcUnavailable | None = None) -> None:
        self._fault = fault

    async def latest_ledger(self) -> LatestLedger:
        if self._fault is not None:
            raise self._fault
        return LatestLedger(1000, datetime(2026, 11, 21, tzinfo=UTC))

    async def simulate(self, envelope: str) -> RawSimulation:
        return RawSimulation({"transactionData": RESOURCES}, 1)


@dataclass
class RecordingPurse:
    agreed: bool = True
    events: list[str] = field(default_factory=list)

    async def agrees(self, offer: Offer, option: Option) -> bool:
        self.events.append("asked")
        return self.agreed

    def signed(self, option: Option, authorization: Authorization) -> None:
        self.events.append("signed")


class RecordingWeb:
    """A seller that gives these answers in order."""

    def __init__(self, *answers: WebAnswer | SellerAway) -> None:
        self._answers = list(answers)
        self.seen: list[tuple[WebRequest, str | None]] = []

    async def send(self, request: WebRequest, payment: Secret[str] | None = None) -> WebAnswer:
        self.seen.append((request, payment.reveal() if payment else None))
        answer = self._answers.pop(0)
        if isinstance(answer, SellerAway):
            raise answer
        return answer


def asks(**changes: object) -> WebAnswer:
    return WebAnswer(402, b"{}", payment_required=offer_header(option_json(), **changes))


def answers(status: int, receipt: dict[str, object] | None = None, **more: str) -> WebAnswer:
    header = encode_header(receipt) if receipt is not None else None
    return WebAnswer(status, b"sunny", payment_response=header, **more)


def success(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {"success": True, "transaction": HASH, "network": "stellar:testnet"}
    return body | {"payer": WALLET.address} | changes


def failure(reason: str, transaction: str = "") -> dict[str, object]:
    return success(success=False, errorReason=reason, transaction=transaction)


WISHES = Wishes((Network.TESTNET,))


def buyer(web: RecordingWeb, fault: RpcUnavailable | None = None) -> Buyer:
    return Buyer(WALLET, web, {Network.TESTNET: RecordingNode(fault)})


async def test_a_request_is_paid_once_and_its_receipt_returned() -> None:
    web, purse = RecordingWeb(asks(), answers(200, success())), RecordingPurse()
    outcome = await buyer(web).pay(REQUEST, WISHES, purse)
    assert isinstance(outcome, Paid)
    assert (outcome.receipt.transaction, outcome.answer.body) == (HASH, b"sunny")
    assert purse.events == ["asked", "signed"]
    (first, unpaid), (second, payment) = web.seen
    assert first == second == REQUEST
    assert unpaid is None
    assert payment is not None


async def test_the_payment_echoes_the_sellers_terms_resource_and_extensions() -> None:
    web = RecordingWeb(asks(extensions={"bazaar": {"info": 1}}), answers(200, success()))
    await buyer(web).pay(REQUEST, WISHES, RecordingPurse())
    payload = decode_header(web.seen[1][1] or "")
    assert payload is not None
    inner = payload.pop("payload")
    assert isinstance(inner, dict)
    assert list(inner) == ["transaction"]
    assert payload == {
        "x402Version": 2,
        "accepted": option_json(),
        "resource": {"url": "http://seller.test/weather", "description": "Forecast"},
        "extensions": {"bazaar": {"info": 1}},
    }


async def test_what_costs_nothing_is_returned_without_asking() -> None:
    web, purse = RecordingWeb(answers(200)), RecordingPurse()
    assert await buyer(web).pay(REQUEST, WISHES, purse) == NothingToPay(answers(200))
    assert purse.events == []


async def test_a_declined_price_signs_nothing() -> None:
    web, purse = RecordingWeb(asks()), RecordingPurse(agreed=False)
    outcome = await buyer(web).pay(REQUEST, WISHES, purse)
    assert isinstance(outcome, Unpaid)
    assert purse.events == ["asked"]
    assert len(web.seen) == 1


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (WebAnswer(402, b"{}"), "price cannot be read: the 402 carries no PAYMENT-REQUIRED"),
        (asks(accepts=[option_json(scheme="upto")]), "None of the seller's terms"),
        (SellerAway("Nothing answers.", certainly_not_sent=True), "Nothing answers."),
        (SellerAway("It stopped.", certainly_not_sent=False), "It stopped."),
    ],
)
async def test_before_a_signature_every_fault_leaves_nothing_paid(
    first: WebAnswer | SellerAway, why: str
) -> None:
    web, purse = RecordingWeb(first), RecordingPurse()
    outcome = await buyer(web).pay(REQUEST, WISHES, purse)
    assert isinstance(outcome, Unpaid)
    assert why in outcome.why
    assert purse.events == []


async def test_a_network_that_is_away_leaves_nothing_paid() -> None:
    web, purse = RecordingWeb(asks()), RecordingPurse()
    fault = RpcUnavailable(Network.TESTNET, "the node is away", certainly_not_sent=False)
    assert await buyer(web, fault).pay(REQUEST, WISHES, purse) == Unpaid("the node is away")
    assert purse.events == ["asked"]
    assert len(web.seen) == 1


async def test_a_lost_answer_is_undecided_and_nothing_is_sent_again() -> None:
    web = RecordingWeb(asks(), SellerAway("It stopped.", certainly_not_sent=False))
    outcome = await buyer(web).pay(REQUEST, WISHES, RecordingPurse())
    assert isinstance(outcome, Undecided)
    assert outcome.transaction == ""
    assert outcome.authorization.expires_at_ledger == 1012
    assert len(web.seen) == 2


async def test_a_payment_that_never_left_is_unpaid() -> None:
    web = RecordingWeb(asks(), SellerAway("Nothing answers.", certainly_not_sent=True))
    outcome = await buyer(web).pay(REQUEST, WISHES, RecordingPurse())
    assert outcome == Unpaid("Nothing answers.")


@pytest.mark.parametrize(
    ("answer", "transaction"),
    [
        (answers(402, failure("settlement_pending", HASH)), HASH),
        (answers(402, failure("unexpected_settle_error")), ""),
        (answers(200), ""),
        (answers(302), ""),
        (answers(502), ""),
        (answers(200, success(transaction="")), ""),
        (answers(200, success(network="stellar:pubnet")), HASH),
        (WebAnswer(200, b"", payment_response="garbled"), ""),
    ],
)
async def test_an_answer_that_proves_nothing_is_undecided(
    answer: WebAnswer, transaction: str
) -> None:
    outcome = await buyer(RecordingWeb(asks(), answer)).pay(REQUEST, WISHES, RecordingPurse())
    assert isinstance(outcome, Undecided)
    assert outcome.transaction == transaction


@pytest.mark.parametrize(
    ("answer", "why", "transaction"),
    [
        (answers(402, failure("duplicate_settlement", HASH)), "duplicate_settlement", HASH),
        (answers(402, failure("")), "no reason given", ""),
        (
            answers(402, payment_required=offer_header(option_json(), error="wrong_amount")),
            "wrong_amount",
            "",
        ),
        (answers(400), "the seller answered 400", ""),
    ],
)
async def test_a_payment_the_seller_refuses_is_not_taken(
    answer: WebAnswer, why: str, transaction: str
) -> None:
    outcome = await buyer(RecordingWeb(asks(), answer)).pay(REQUEST, WISHES, RecordingPurse())
    assert isinstance(outcome, NotTaken)
    assert (outcome.why, outcome.transaction) == (why, transaction)


async def test_a_receipt_counts_even_when_the_goods_do_not_come() -> None:
    outcome = await buyer(RecordingWeb(asks(), answers(502, success()))).pay(
        REQUEST, WISHES, RecordingPurse()
    )
    assert isinstance(outcome, Paid)
    assert outcome.answer.status == 502
