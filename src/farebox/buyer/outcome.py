"""What came of an attempt to pay, and how a seller's answer is judged."""

from dataclasses import dataclass

from farebox.buyer.authorization import Authorization
from farebox.buyer.offer import Offer, Option, read_offer
from farebox.buyer.receipt import Receipt, read_receipt
from farebox.buyer.web import WebAnswer


@dataclass(frozen=True, slots=True)
class NothingToPay:
    """The seller asked for no money: its answer, as it is."""

    answer: WebAnswer


@dataclass(frozen=True, slots=True)
class Unpaid:
    """No signature left this machine; nothing can be charged."""

    why: str


@dataclass(frozen=True, slots=True)
class Paid:
    """The seller showed a receipt for this payment; its answer may still be an error."""

    receipt: Receipt
    answer: WebAnswer


@dataclass(frozen=True, slots=True)
class NotTaken:
    """The seller says the payment failed; it holds the signature until it expires."""

    why: str
    transaction: str
    authorization: Authorization
    answer: WebAnswer


@dataclass(frozen=True, slots=True)
class Undecided:
    """Nobody can say yet whether the money moved; `transaction` is "" when not even a hash came."""

    why: str
    transaction: str
    authorization: Authorization
    answer: WebAnswer | None = None


Outcome = NothingToPay | Unpaid | Paid | NotTaken | Undecided


def judge_answer(answer: WebAnswer, option: Option, signed: Authorization) -> Outcome:
    """What the answer to a paid request says about the money.

    Only a receipt proves a payment, and only a receipt or a refusal (4xx) disproves one.
    """
    receipt = read_receipt(answer.payment_response)
    if receipt is None:
        return _judge_without_receipt(answer, signed)
    if receipt.proves(option.terms.network):
        return Paid(receipt, answer)
    if receipt.is_success:
        why = "the receipt names no transaction on the network that was paid on"
        return Undecided(why, receipt.transaction, signed, answer)
    if receipt.is_undecided:
        return Undecided(receipt.reason, receipt.transaction, signed, answer)
    return NotTaken(receipt.reason or "no reason given", receipt.transaction, signed, answer)


def _judge_without_receipt(answer: WebAnswer, signed: Authorization) -> Outcome:
    if 400 <= answer.status < 500:
        offer = read_offer(answer.payment_required)
        said = offer.error if isinstance(offer, Offer) else ""
        return NotTaken(said or f"the seller answered {answer.status}", "", signed, answer)
    why = f"the seller answered {answer.status} without a receipt"
    return Undecided(why, "", signed, answer)
