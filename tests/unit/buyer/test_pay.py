"""The flow of a paid request, with a seller and a network that record their calls."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from stellar_sdk import Keypair, xdr

from farebox.buyer.authorization import Authorization
from farebox.buyer.choose import BuyerPreferences
from farebox.buyer.offer import Offer, Option
from farebox.buyer.outcome import NothingToPay, Paid, PaymentRefused, Undecided, Unpaid
from farebox.buyer.pay import Buyer
from farebox.buyer.seller_client import SellerRequest, SellerResponse, SellerUnavailable
from farebox.buyer.wallet import wallet_of
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import LatestLedger, RawSimulation, RpcUnavailable
from farebox.x402.headers import decode_header, encode_header
from support.fake_rpc import FakeRpc
from support.offers import offer_header, option_json

WALLET = wallet_of(Secret(Keypair.random().secret))
HASH = "ab" * 32
REQUEST = SellerRequest("http://seller.test/weather", headers={"Accept": "text/plain"})
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


class RecordingNode(FakeRpc):
    def __init__(self, fault: RpcUnavailable | None = None) -> None:
        self._fault = fault

    async def latest_ledger(self) -> LatestLedger:
        if self._fault is not None:
            raise self._fault
        return LatestLedger(1000, datetime(2026, 11, 21, tzinfo=UTC))

    async def simulate(self, envelope: str) -> RawSimulation:
        return RawSimulation({"transactionData": RESOURCES})


@dataclass
class RecordingApprover:
    agreed: bool = True
    events: list[str] = field(default_factory=list)

    async def approve(self, offer: Offer, option: Option) -> bool:
        self.events.append("approve")
        return self.agreed

    def on_signed(self, option: Option, authorization: Authorization) -> None:
        self.events.append("signed")


class RecordingWeb:
    """A seller that gives these answers in order."""

    def __init__(self, *answers: SellerResponse | SellerUnavailable) -> None:
        self._answers = list(answers)
        self.seen: list[tuple[SellerRequest, str | None]] = []

    async def send(
        self, request: SellerRequest, payment: Secret[str] | None = None
    ) -> SellerResponse:
        self.seen.append((request, payment.reveal() if payment else None))
        answer = self._answers.pop(0)
        if isinstance(answer, SellerUnavailable):
            raise answer
        return answer


def response_402(**changes: object) -> SellerResponse:
    return SellerResponse(402, b"{}", payment_required=offer_header(option_json(), **changes))


def answers(status: int, receipt: dict[str, object] | None = None, **more: str) -> SellerResponse:
    header = encode_header(receipt) if receipt is not None else None
    return SellerResponse(status, b"sunny", payment_response=header, **more)


def success(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {"success": True, "transaction": HASH, "network": "stellar:testnet"}
    return body | {"payer": WALLET.address} | changes


def failure(reason: str, transaction: str = "") -> dict[str, object]:
    return success(success=False, errorReason=reason, transaction=transaction)


PREFERENCES = BuyerPreferences((Network.TESTNET,))


def buyer(web: RecordingWeb, fault: RpcUnavailable | None = None) -> Buyer:
    return Buyer(WALLET, web, {Network.TESTNET: RecordingNode(fault)})


async def test_pay_pays_once_and_returns_the_receipt() -> None:
    web, approver = RecordingWeb(response_402(), answers(200, success())), RecordingApprover()
    outcome = await buyer(web).pay(REQUEST, PREFERENCES, approver)
    assert isinstance(outcome, Paid)
    assert (outcome.receipt.transaction, outcome.response.body) == (HASH, b"sunny")
    assert approver.events == ["approve", "signed"]
    (first, unpaid), (second, payment) = web.seen
    assert first == second == REQUEST
    assert unpaid is None
    assert payment is not None


async def test_payment_repeats_the_sellers_terms_resource_and_extensions() -> None:
    web = RecordingWeb(response_402(extensions={"bazaar": {"info": 1}}), answers(200, success()))
    await buyer(web).pay(REQUEST, PREFERENCES, RecordingApprover())
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


async def test_pay_returns_a_free_response_without_approval() -> None:
    web, approver = RecordingWeb(answers(200)), RecordingApprover()
    assert await buyer(web).pay(REQUEST, PREFERENCES, approver) == NothingToPay(answers(200))
    assert approver.events == []


async def test_pay_signs_nothing_when_the_price_is_declined() -> None:
    web, approver = RecordingWeb(response_402()), RecordingApprover(agreed=False)
    outcome = await buyer(web).pay(REQUEST, PREFERENCES, approver)
    assert isinstance(outcome, Unpaid)
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
        (SellerUnavailable("It stopped.", certainly_not_sent=False), "It stopped."),
    ],
)
async def test_pay_is_unpaid_after_any_fault_before_the_signature(
    first: SellerResponse | SellerUnavailable, why: str
) -> None:
    web, approver = RecordingWeb(first), RecordingApprover()
    outcome = await buyer(web).pay(REQUEST, PREFERENCES, approver)
    assert isinstance(outcome, Unpaid)
    assert why in outcome.reason
    assert approver.events == []


async def test_pay_is_unpaid_when_the_network_is_unavailable() -> None:
    web, approver = RecordingWeb(response_402()), RecordingApprover()
    fault = RpcUnavailable(Network.TESTNET, "the node is away", certainly_not_sent=False)
    assert await buyer(web, fault).pay(REQUEST, PREFERENCES, approver) == Unpaid("the node is away")
    assert approver.events == ["approve"]
    assert len(web.seen) == 1


async def test_pay_is_undecided_after_a_lost_response_and_sends_nothing_again() -> None:
    web = RecordingWeb(response_402(), SellerUnavailable("It stopped.", certainly_not_sent=False))
    outcome = await buyer(web).pay(REQUEST, PREFERENCES, RecordingApprover())
    assert isinstance(outcome, Undecided)
    assert outcome.transaction == ""
    assert outcome.authorization.expires_at_ledger == 1012
    assert len(web.seen) == 2


async def test_pay_is_unpaid_when_the_payment_was_certainly_not_sent() -> None:
    web = RecordingWeb(
        response_402(), SellerUnavailable("Nothing answers.", certainly_not_sent=True)
    )
    outcome = await buyer(web).pay(REQUEST, PREFERENCES, RecordingApprover())
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
        (SellerResponse(200, b"", payment_response="garbled"), ""),
    ],
)
async def test_pay_is_undecided_when_the_response_proves_nothing(
    answer: SellerResponse, transaction: str
) -> None:
    outcome = await buyer(RecordingWeb(response_402(), answer)).pay(
        REQUEST, PREFERENCES, RecordingApprover()
    )
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
async def test_pay_is_refused_when_the_seller_refuses(
    answer: SellerResponse, why: str, transaction: str
) -> None:
    outcome = await buyer(RecordingWeb(response_402(), answer)).pay(
        REQUEST, PREFERENCES, RecordingApprover()
    )
    assert isinstance(outcome, PaymentRefused)
    assert (outcome.reason, outcome.transaction) == (why, transaction)


async def test_pay_is_paid_with_a_receipt_even_when_the_response_failed() -> None:
    outcome = await buyer(RecordingWeb(response_402(), answers(502, success()))).pay(
        REQUEST, PREFERENCES, RecordingApprover()
    )
    assert isinstance(outcome, Paid)
    assert outcome.response.status == 502
