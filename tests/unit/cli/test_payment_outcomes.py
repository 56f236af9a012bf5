"""Every answer of a seller, settled or not, by every clock: the command says what the ledger shows.

Each status from 200 to 599 stands with one receipt of each kind, and each receipt with the statuses
that clients treat apart and the bounds of their classes, before each state of the ledger. Nothing
here knows how the outcome is judged; it compares what is said with the ledger.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest
from stellar_sdk import Keypair

from farebox.buyer.outcome import Outcome, Paid, PaymentRefused, Undecided, Unpaid, judge_payment
from farebox.buyer.pay import LedgerLooker
from farebox.buyer.seller_client import SellerRequest, SellerResponse
from farebox.buyer.signed_payment import SignedPayment
from farebox.cli.paying import PaymentTrail, describe, exit_code, outcome_json
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.authorization_use import find_use
from farebox.stellar.known_tokens import USDC
from farebox.x402.headers import encode_header
from farebox.x402.reasons import Reason
from support.buyer_ledger import BuyerNode, landing
from support.manual_clock import ManualClock
from support.offers import SELLER, offer_header, option_json
from support.payments import Draft
from unit.stellar.test_authorization_use import transfer_of

SIGNED, LAST = 1000, 1060
KEY = Keypair.random()
DRAFT = Draft(
    Network.TESTNET,
    USDC[Network.TESTNET].contract,
    KEY.public_key,
    (KEY,),
    SELLER,
    expires_at_ledger=LAST,
)
TRANSFER = transfer_of(DRAFT)
PAYMENT = SignedPayment(SellerRequest("http://seller.test/"), Secret("header"), TRANSFER, SIGNED)
LANDING = landing(TRANSFER, DRAFT.envelope().to_xdr(), 1002)
FILE = Path("/payments/the payment.json")
OWN, MADE_UP = LANDING.tx_hash, "ab" * 32
STATUSES = range(200, 600)
KINDS = (
    *(200, 201, 202, 204, 206, 299),
    *(300, 301, 302, 303, 304, 307, 308, 399),
    *(400, 401, 402, 403, 404, 405, 408, 409, 410, 412, 413, 422, 423, 425, 428, 429, 451, 499),
    *(500, 501, 502, 503, 504, 599),
)


@dataclass(frozen=True)
class LedgerState:
    """A ledger, and what a buyer may say about a payment on it: exit code and outcome."""

    node: BuyerNode
    code: int
    name: str


LEDGERS = {
    "settled": LedgerState(BuyerNode(1003, used_in=1002, landed=[LANDING]), 0, "paid"),
    "settled long ago": LedgerState(BuyerNode(9000, landed=[LANDING]), 0, "paid"),
    "settled, not shown": LedgerState(BuyerNode(1003, used_in=1002), 3, "unknown"),
    "open": LedgerState(BuyerNode(1003), 3, "unknown"),
    "open to its last ledger": LedgerState(BuyerNode(LAST), 3, "unknown"),
    "void": LedgerState(BuyerNode(LAST + 1), 1, "refused"),
    "history too short": LedgerState(BuyerNode(9000, oldest=5000), 3, "unknown"),
    "away": LedgerState(BuyerNode(is_away=True), 3, "unknown"),
}


def receipt(**members: object) -> str:
    return encode_header(
        {"success": True, "transaction": OWN, "network": "stellar:testnet"} | members
    )


def receipts() -> Iterator[str | None]:
    """Each kind of receipt: success, failure by each reason, made up, elsewhere, none, garbage."""
    yield None
    yield receipt()
    yield receipt(transaction=MADE_UP)
    yield receipt(transaction="")
    yield receipt(network="stellar:pubnet")
    yield receipt(network="eip155:8453", transaction="0x00")
    yield receipt(success="true")
    for reason in (*Reason, "", "made_up"):
        yield receipt(success=False, errorReason=str(reason))
    yield receipt(success=False, errorReason="settlement_pending", transaction="")
    yield "garbage"
    yield "e30="


def receipt_kinds() -> Iterator[str | None]:
    """One receipt of each kind."""
    failed = receipt(success=False, errorReason="invalid_exact_stellar_signature_expired")
    elsewhere = receipt(network="stellar:pubnet")
    yield from (None, receipt(), receipt(transaction=MADE_UP), elsewhere, failed, "garbage")


def clock(off_by: timedelta) -> ManualClock:
    """The buyer's own clock, off by this much."""

    class OffClock(ManualClock):
        def now(self) -> datetime:
            return datetime.now(UTC) + off_by

    return OffClock()


def told_wrong(outcome: Outcome, ledger: LedgerState) -> bool:
    """Whether the command says anything else than this ledger shows."""
    said = " ".join(describe(outcome, FILE))
    line = json.loads(outcome_json(outcome, PaymentTrail(None, PAYMENT, FILE)))
    truth = {
        "paid": said.startswith(f"Paid: transaction {OWN}."),
        "refused": "was refused" in said and "Nothing was charged" in said,
        "unknown": "Do not pay again" in said
        and "farebox pay --look '/payments/the payment.json'" in said
        and line.get("look") == "farebox pay --look '/payments/the payment.json'",
    }
    named = [name for name, is_said in truth.items() if is_said]
    return (
        named != [ledger.name]
        or exit_code(outcome) != ledger.code
        or (line["outcome"], line["paid"]) != (ledger.name, ledger.name == "paid")
    )


async def outcome_of(
    ledger: LedgerState, response: SellerResponse | None, off_by: timedelta = timedelta()
) -> Outcome:
    looker = LedgerLooker(ledger.node, clock(off_by), wait_s=0)
    return await looker.conclude(PAYMENT, response, "" if response else "The seller timed out.")


@pytest.mark.parametrize("ledger", ["settled", "open", "void", "away"])
async def test_command_says_what_the_ledger_shows_whatever_the_seller_answers(ledger: str) -> None:
    state, use = LEDGERS[ledger], None
    if not state.node.is_away:
        use = await find_use(state.node, TRANSFER, first_ledger=SIGNED)
    offer = offer_header(option_json(), error="wrong_amount")
    for status, each in (*product(STATUSES, receipt_kinds()), *product(KINDS, receipts())):
        response = SellerResponse(status, b"", "", offer if status == 402 else None, each)
        outcome = judge_payment(PAYMENT, use, response)
        assert not told_wrong(outcome, state), (status, each, outcome)


@pytest.mark.parametrize("ledger", LEDGERS.values(), ids=LEDGERS)
async def test_outcome_is_the_ledgers_by_every_clock_and_without_a_response(
    ledger: LedgerState,
) -> None:
    failed = receipt(success=False, errorReason="invalid_exact_stellar_signature_expired")
    receipts_ = (None, receipt(), receipt(transaction=MADE_UP), failed, "garbage")
    clocks = (-86_400, -300, -30, 0, 30, 300, 86_400)
    for status, each, off_by in product((200, 402, 404, 429, 502), receipts_, clocks):
        response = SellerResponse(status, b"", payment_response=each)
        outcome = await outcome_of(ledger, response, timedelta(seconds=off_by))
        assert not told_wrong(outcome, ledger), (status, each, off_by, outcome)
    assert not told_wrong(await outcome_of(ledger, None), ledger)


@pytest.mark.parametrize(("node", "is_reported"), [("away", True), ("open", False)])
async def test_success_without_a_node_is_reported_as_paid(node: str, *, is_reported: bool) -> None:
    response = SellerResponse(200, b"", payment_response=receipt())
    outcome = await outcome_of(LEDGERS[node], response)
    assert isinstance(outcome, Undecided)
    assert outcome.is_reported is is_reported
    assert ("Reported as paid" in describe(outcome)[0]) is is_reported
    elsewhere = SellerResponse(200, b"", payment_response=receipt(network="stellar:pubnet"))
    assert "Reported" not in describe(await outcome_of(LEDGERS[node], elsewhere))[0]


@pytest.mark.parametrize(
    ("judged", "ledger"),
    [
        (PaymentRefused("402", PAYMENT, SellerResponse(402, b"")), "settled"),
        (PaymentRefused("402", PAYMENT, SellerResponse(402, b"")), "open"),
        (Paid(OWN, SellerResponse(200, b"")), "open"),
        (Paid(MADE_UP, SellerResponse(200, b"")), "settled"),
        (Unpaid("The seller answered 402"), "void"),
        (Undecided("402", "", PAYMENT), "settled"),
    ],
)
def test_table_notices_an_outcome_that_the_ledger_does_not_show(
    judged: Outcome, ledger: str
) -> None:
    assert told_wrong(judged, LEDGERS[ledger])
