"""Receipts, and the outcome of a paid request by the seller's response."""

import re
from dataclasses import dataclass
from typing import Final

from farebox.buyer.authorization import Authorization
from farebox.buyer.offer import Offer, Option, printable, read_offer
from farebox.buyer.seller_client import SellerResponse
from farebox.kernel.networks import Network
from farebox.x402.headers import decode_header
from farebox.x402.reasons import REGISTRY, Reason, Retry

_HASH: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A `PAYMENT-RESPONSE` header; `transaction` is "" when it names none."""

    is_success: bool
    transaction: str
    network: str
    reason: str
    payer: str = ""

    @property
    def is_undecided(self) -> bool:
        """Whether the payment may still settle; only the same payment may be repeated."""
        known = Reason(self.reason) if self.reason in set(Reason) else None
        return known is not None and REGISTRY[known].retry is Retry.RECONCILE

    def proves(self, network: Network) -> bool:
        """Whether this reports a transaction on the network of the payment."""
        return self.is_success and self.network == network and bool(self.transaction)


def read_receipt(header: str | None) -> Receipt | None:
    """Read a `PAYMENT-RESPONSE` header; None when it is absent or malformed."""
    body = decode_header(header) if header is not None else None
    if body is None or not isinstance(body.get("success"), bool):
        return None
    transaction = body.get("transaction")
    is_hash = isinstance(transaction, str) and _HASH.match(transaction) is not None
    return Receipt(
        is_success=body["success"] is True,
        transaction=str(transaction) if is_hash else "",
        network=printable(body.get("network"), limit=64),
        reason=printable(body.get("errorReason"), limit=120),
        payer=printable(body.get("payer"), limit=64),
    )


@dataclass(frozen=True, slots=True)
class NothingToPay:
    """The seller required no payment."""

    response: SellerResponse


@dataclass(frozen=True, slots=True)
class Unpaid:
    """No signature left this machine, so nothing can be charged."""

    reason: str


@dataclass(frozen=True, slots=True)
class Paid:
    """The seller returned a receipt for this payment; the response may still be an error."""

    receipt: Receipt
    response: SellerResponse


@dataclass(frozen=True, slots=True)
class PaymentRefused:
    """The seller reported a failed payment; it can use the signature until it expires."""

    reason: str
    transaction: str
    authorization: Authorization
    response: SellerResponse


@dataclass(frozen=True, slots=True)
class Undecided:
    """It is not known whether the payment settled; `transaction` is "" when its hash is unknown."""

    reason: str
    transaction: str
    authorization: Authorization
    response: SellerResponse | None = None


Outcome = NothingToPay | Unpaid | Paid | PaymentRefused | Undecided


def judge_response(response: SellerResponse, option: Option, signed: Authorization) -> Outcome:
    """Judge the response to a paid request.

    Only a receipt proves a payment, and only a receipt or a status 4xx disproves one.
    """
    receipt = read_receipt(response.payment_response)
    if receipt is None:
        return _judge_without_receipt(response, signed)
    if receipt.proves(option.terms.network):
        return Paid(receipt, response)
    if receipt.is_success:
        reason = "the receipt names no transaction on the network that was paid on"
        return Undecided(reason, receipt.transaction, signed, response)
    if receipt.is_undecided:
        return Undecided(receipt.reason, receipt.transaction, signed, response)
    return PaymentRefused(
        receipt.reason or "no reason given", receipt.transaction, signed, response
    )


def _judge_without_receipt(response: SellerResponse, signed: Authorization) -> Outcome:
    if 400 <= response.status < 500:
        offer = read_offer(response.payment_required)
        error = offer.error if isinstance(offer, Offer) else ""
        return PaymentRefused(
            error or f"the seller answered {response.status}", "", signed, response
        )
    reason = f"the seller answered {response.status} without a receipt"
    return Undecided(reason, "", signed, response)
