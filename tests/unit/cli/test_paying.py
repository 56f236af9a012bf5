"""The sentences and exit codes for the outcome of a payment."""

import json

import pytest
from stellar_sdk import Keypair

from farebox.buyer.authorization import Authorization
from farebox.buyer.choose import describe_price
from farebox.buyer.offer import Offer, Option, read_offer
from farebox.buyer.outcome import (
    NothingToPay,
    Outcome,
    Paid,
    PaymentRefused,
    Receipt,
    Undecided,
    Unpaid,
)
from farebox.buyer.seller_client import SellerResponse
from farebox.buyer.wallet import wallet_of
from farebox.cli.paying import (
    PromptingApprover,
    describe,
    exit_code,
    interrupted_outcome,
    outcome_json,
)
from farebox.kernel.secret import Secret
from support.offers import SELLER, offer_header, option_json

HASH = "ab" * 32
WALLET = wallet_of(Secret(Keypair.random().secret))
SIGNED = Authorization(Secret("the envelope"), -77, 4321)
RECEIPT = Receipt(is_success=True, transaction=HASH, network="stellar:testnet", reason="")


def offer() -> tuple[Offer, Option]:
    read = read_offer(offer_header(option_json()))
    assert isinstance(read, Offer)
    (option,) = read.options
    assert isinstance(option, Option)
    return read, option


CASES: list[tuple[Outcome, int, list[str]]] = [
    (Paid(RECEIPT, SellerResponse(200, b"")), 0, [f"Paid: transaction {HASH}."]),
    (Paid(RECEIPT, SellerResponse(502, b"")), 0, ["answered 502", "before you pay again"]),
    (NothingToPay(SellerResponse(200, b"")), 0, ["Nothing had to be paid."]),
    (NothingToPay(SellerResponse(404, b"")), 1, ["answered 404"]),
    (NothingToPay(SellerResponse(302, b"", location="http://x/")), 1, ["redirects to http://x/"]),
    (Unpaid("the node is away"), 1, ["The node is away."]),
    (
        PaymentRefused("wrong_amount", "", SIGNED, SellerResponse(402, b"")),
        1,
        ["wrong_amount.", "4321"],
    ),
    (
        PaymentRefused("too_late", HASH, SIGNED, SellerResponse(402, b"")),
        1,
        [f"(transaction {HASH})"],
    ),
    (Undecided("it stopped.", "", SIGNED), 3, ["nonce -77", "Do not pay again", "ledger 4321"]),
    (Undecided("pending", HASH, SIGNED), 3, [f"transaction {HASH}"]),
]


@pytest.mark.parametrize(("outcome", "code", "words"), CASES)
def test_outcome_is_described_in_words_and_an_exit_code(
    outcome: Outcome, code: int, words: list[str]
) -> None:
    text = " ".join(describe(outcome))
    assert exit_code(outcome) == code
    for each in words:
        assert each in text


@pytest.mark.parametrize(("outcome", "code", "words"), CASES)
def test_outcome_json_has_the_description_in_one_line(
    outcome: Outcome, code: int, words: list[str]
) -> None:
    line = outcome_json(outcome, PromptingApprover(WALLET, is_approved=True))
    body = json.loads(line)
    assert body["paid"] is isinstance(outcome, Paid)
    assert body["said"] == " ".join(describe(outcome))
    assert ("\n" in line, "the envelope" in line) == (False, False)


def test_outcome_json_has_the_price_and_the_authorization() -> None:
    approver = PromptingApprover(WALLET, is_approved=True)
    _, option = offer()
    approver.option, approver.authorization = option, SIGNED
    body = json.loads(outcome_json(Undecided("lost", "", SIGNED), approver))
    assert body["outcome"] == "unknown"
    assert (body["amount"], body["network"]) == ("500000", "stellar:testnet")
    assert (body["payTo"], body["nonce"], body["expiresAtLedger"]) == (SELLER, "-77", 4321)


def test_describe_price_names_the_amount_seller_and_payer() -> None:
    read, option = offer()
    text = "\n".join(describe_price(read, option, payer=WALLET.address))
    for word in ("0.05 USDC", "testnet", SELLER, WALLET.address, "Forecast"):
        assert word in text


def test_interrupted_outcome_is_unpaid_before_signing_and_undecided_after() -> None:
    approver = PromptingApprover(WALLET, is_approved=True)
    assert exit_code(interrupted_outcome(approver)) == 1
    approver.on_signed(offer()[1], SIGNED)
    assert exit_code(interrupted_outcome(approver)) == 3
    assert "nonce -77" in describe(interrupted_outcome(approver))[0]
