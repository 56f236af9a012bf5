"""The sentences and exit codes for the outcome of a payment."""

import json
from pathlib import Path

import pytest
from stellar_sdk import Keypair

from farebox.buyer.choose import describe_price
from farebox.buyer.offer import Offer, Option, read_offer
from farebox.buyer.outcome import NothingToPay, Outcome, Paid, PaymentRefused, Undecided, Unpaid
from farebox.buyer.seller_client import SellerRequest, SellerResponse
from farebox.buyer.signed_payment import NodeAddress, SignedPayment, open_payment
from farebox.buyer.wallet import wallet_of
from farebox.cli.paying import (
    PaymentTrail,
    PromptingApprover,
    broken_outcome,
    describe,
    exit_code,
    is_over,
    outcome_json,
)
from farebox.kernel.secret import Secret
from farebox.stellar.authorization_use import AuthorizedTransfer
from support.offers import SELLER, offer_header, option_json

HASH = "ab" * 32
WALLET = wallet_of(Secret(Keypair.random().secret))
FILE = Path("/kept.json")


def offer() -> tuple[Offer, Option]:
    read = read_offer(offer_header(option_json()))
    assert isinstance(read, Offer)
    (option,) = read.options
    assert isinstance(option, Option)
    return read, option


TERMS = offer()[1].terms
SIGNED = SignedPayment(
    SellerRequest("http://seller.test/"),
    Secret("the header"),
    AuthorizedTransfer(
        TERMS.network, TERMS.asset, TERMS.amount, TERMS.pay_to, WALLET.address, -77, 4321
    ),
    4300,
)
LOST = ["no response has come", "do not pay again", "farebox pay --repeat /kept.json"]
CASES: list[tuple[Outcome, int, bool, list[str]]] = [
    (Paid(HASH, SellerResponse(200, b"")), 0, True, [f"Paid: transaction {HASH}."]),
    (Paid(HASH, SellerResponse(200, b"", is_cut=True)), 0, True, ["longer than 16 MB"]),
    (Paid(HASH, SellerResponse(502, b"")), 0, False, ["answered 502", "do not pay again"]),
    (Paid(HASH, None), 0, False, LOST),
    (NothingToPay(SellerResponse(200, b"")), 0, True, ["Nothing had to be paid."]),
    (NothingToPay(SellerResponse(404, b"")), 1, True, ["answered 404"]),
    (
        NothingToPay(SellerResponse(302, b"", location="http://x/")),
        1,
        True,
        ["redirects to http://x/"],
    ),
    (Unpaid("the node is away"), 1, True, ["The node is away."]),
    (
        PaymentRefused("wrong_amount", SIGNED, SellerResponse(402, b"")),
        1,
        True,
        ["wrong_amount.", "Nothing was charged", "ledger 4321, which has closed"],
    ),
    (
        Undecided("it stopped.", "", SIGNED),
        3,
        False,
        ["(it stopped): nonce -77", "Do not pay again", "ledger 4321", "--look /kept.json"],
    ),
    (Undecided("pending", HASH, SIGNED), 3, False, [f"transaction {HASH}, nonce -77"]),
]


@pytest.mark.parametrize(("outcome", "code", "is_end", "words"), CASES)
def test_outcome_is_described_in_words_an_exit_code_and_one_line_of_json(
    outcome: Outcome, code: int, *, is_end: bool, words: list[str]
) -> None:
    text = " ".join(describe(outcome, FILE))
    assert (exit_code(outcome), is_over(outcome)) == (code, is_end)
    for each in words:
        assert each in text
    line = outcome_json(outcome, PaymentTrail(TERMS, SIGNED, FILE))
    body = json.loads(line)
    assert body["paid"] is isinstance(outcome, Paid)
    assert body["said"] == text
    assert ("look" in body, "repeat" in body) == (not is_end, not is_end)
    assert ("\n" in line, "the header" in line) == (False, False)


def test_outcome_json_has_the_price_and_the_authorization() -> None:
    trail = PaymentTrail(TERMS, SIGNED, FILE)
    body = json.loads(outcome_json(Undecided("lost", "", SIGNED), trail))
    assert body["outcome"] == "unknown"
    assert (body["amount"], body["network"]) == ("500000", "stellar:testnet")
    assert (body["payTo"], body["nonce"], body["expiresAtLedger"]) == (SELLER, "-77", 4321)


def test_describe_price_names_the_amount_seller_and_payer() -> None:
    read, option = offer()
    text = "\n".join(describe_price(read, option, payer=WALLET.address))
    for word in ("0.05 USDC", "testnet", SELLER, WALLET.address, "Forecast"):
        assert word in text


def test_command_that_breaks_off_is_unpaid_before_signing_and_undecided_after(
    tmp_path: Path,
) -> None:
    approver = PromptingApprover(WALLET, tmp_path, NodeAddress("http://node/"), is_approved=True)
    broken = broken_outcome(approver.trail, "you interrupted it")
    assert broken == Unpaid("You interrupted it; nothing was signed.")
    approver.on_signed(SIGNED)
    assert approver.trail.file is not None
    kept, node = open_payment(approver.trail.file)
    assert (kept.transfer, node) == (SIGNED.transfer, NodeAddress("http://node/"))
    broken = broken_outcome(approver.trail, "you interrupted it")
    assert exit_code(broken) == 3
    assert "nonce -77" in describe(broken)[0]
