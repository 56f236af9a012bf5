"""What a person is told, and the exit code that goes with it."""

import json

import pytest
from stellar_sdk import Keypair

from farebox.buyer.authorization import Authorization
from farebox.buyer.offer import Offer, Option, read_offer
from farebox.buyer.outcome import NothingToPay, NotTaken, Outcome, Paid, Undecided, Unpaid
from farebox.buyer.price import price_lines
from farebox.buyer.receipt import Receipt
from farebox.buyer.wallet import wallet_of
from farebox.buyer.web import WebAnswer
from farebox.cli.paying import AskingPurse, Report, describe, exit_code, interrupted
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
    (Paid(RECEIPT, WebAnswer(200, b"")), 0, [f"Paid: transaction {HASH}."]),
    (Paid(RECEIPT, WebAnswer(502, b"")), 0, ["answered 502", "before you pay again"]),
    (NothingToPay(WebAnswer(200, b"")), 0, ["Nothing had to be paid."]),
    (NothingToPay(WebAnswer(404, b"")), 1, ["answered 404"]),
    (NothingToPay(WebAnswer(302, b"", location="http://x/")), 1, ["sends you to http://x/"]),
    (Unpaid("the node is away"), 1, ["The node is away."]),
    (NotTaken("wrong_amount", "", SIGNED, WebAnswer(402, b"")), 1, ["wrong_amount.", "4321"]),
    (NotTaken("too_late", HASH, SIGNED, WebAnswer(402, b"")), 1, [f"(transaction {HASH})"]),
    (Undecided("it stopped.", "", SIGNED), 3, ["nonce -77", "Do not pay again", "ledger 4321"]),
    (Undecided("pending", HASH, SIGNED), 3, [f"transaction {HASH}"]),
]


@pytest.mark.parametrize(("outcome", "code", "words"), CASES)
def test_an_outcome_is_said_in_words_and_an_exit_code(
    outcome: Outcome, code: int, words: list[str]
) -> None:
    said = " ".join(describe(outcome))
    assert exit_code(outcome) == code
    for each in words:
        assert each in said


@pytest.mark.parametrize(("outcome", "code", "words"), CASES)
def test_a_program_reads_the_same_from_one_line(
    outcome: Outcome, code: int, words: list[str]
) -> None:
    line = Report(outcome, AskingPurse(WALLET, is_agreed=True)).line()
    body = json.loads(line)
    assert body["paid"] is isinstance(outcome, Paid)
    assert body["said"] == " ".join(describe(outcome))
    assert ("\n" in line, "the envelope" in line) == (False, False)


def test_the_line_names_the_price_and_the_signature_that_was_given() -> None:
    purse = AskingPurse(WALLET, is_agreed=True)
    _, option = offer()
    purse.option, purse.authorization = option, SIGNED
    body = json.loads(Report(Undecided("lost", "", SIGNED), purse).line())
    assert body["outcome"] == "unknown"
    assert (body["amount"], body["network"]) == ("500000", "stellar:testnet")
    assert (body["payTo"], body["nonce"], body["expiresAtLedger"]) == (SELLER, "-77", 4321)


def test_the_price_is_shown_with_who_gets_it() -> None:
    read, option = offer()
    text = "\n".join(price_lines(read, option, payer=WALLET.address))
    for word in ("0.05 USDC", "testnet", SELLER, WALLET.address, "Forecast"):
        assert word in text


def test_an_interruption_before_signing_leaves_nothing_and_after_it_an_unknown() -> None:
    purse = AskingPurse(WALLET, is_agreed=True)
    assert exit_code(interrupted(purse)) == 1
    purse.signed(offer()[1], SIGNED)
    assert exit_code(interrupted(purse)) == 3
    assert "nonce -77" in describe(interrupted(purse))[0]
