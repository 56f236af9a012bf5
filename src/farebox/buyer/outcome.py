"""Receipts, and the outcome of a paid request.

A seller's response tells what the seller says. Whether the payment was made is the ledger's to
say, whatever the response's status and receipt: see docs/decisions/0052.
"""

import re
from dataclasses import dataclass
from typing import Final, assert_never

from farebox.buyer.offer import Offer, printable, read_offer
from farebox.buyer.seller_client import SellerResponse
from farebox.buyer.signed_payment import SignedPayment
from farebox.kernel.networks import Network
from farebox.stellar.authorization_use import (
    AuthorizationUse,
    TransferLanded,
    TransferOpen,
    TransferVoid,
)
from farebox.x402.headers import decode_header

_HASH: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A `PAYMENT-RESPONSE` header; `transaction` is "" when it names none."""

    is_success: bool
    transaction: str
    network: str
    reason: str
    payer: str = ""

    def reports(self, network: Network) -> bool:
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
    """The node shows the transfer; the response may be an error, or None where it was lost."""

    transaction: str
    response: SellerResponse | None


@dataclass(frozen=True, slots=True)
class PaymentRefused:
    """The authorization has expired unused: nothing was charged, and nothing can be."""

    reason: str
    payment: SignedPayment
    response: SellerResponse | None


@dataclass(frozen=True, slots=True)
class Undecided:
    """It is not known whether the payment was made.

    `reported` is the transaction that the seller names, "" without one. `is_reported`: it reports
    success, and the node gave no answer to hold that against.
    """

    reason: str
    reported: str
    payment: SignedPayment
    response: SellerResponse | None = None
    is_reported: bool = False


Outcome = NothingToPay | Unpaid | Paid | PaymentRefused | Undecided


def judge_payment(
    payment: SignedPayment,
    use: AuthorizationUse | None,
    response: SellerResponse | None,
    fault: str = "",
) -> Paid | PaymentRefused | Undecided:
    """Judge a payment that may have been sent, by the ledger alone.

    `use` is None where the node gave no answer. `fault` says why there is no response.
    """
    said = fault.rstrip(".") if response is None else _describe_response(response)
    match use:
        case TransferLanded(tx_hash):
            return Paid(tx_hash, response)
        case TransferVoid():
            return PaymentRefused(said or "no ledger has it", payment, response)
        case TransferOpen() | None:
            receipt = None if response is None else read_receipt(response.payment_response)
            is_reported = receipt is not None and receipt.reports(payment.network)
            return Undecided(
                "; ".join(each for each in (said, _describe_use(use)) if each),
                "" if receipt is None else receipt.transaction,
                payment,
                response,
                is_reported=use is None and is_reported,
            )
        case _:
            assert_never(use)


def _describe_use(use: TransferOpen | None) -> str:
    if use is None:
        return "the node gives no answer"
    if use.is_used:
        return "its authorization was used, and the node does not show the transaction yet"
    return f"the node does not show it as of ledger {use.latest_ledger}"


def _describe_response(response: SellerResponse) -> str:
    """Describe a response in one clause; a seller's own words are cut and printable."""
    receipt = read_receipt(response.payment_response)
    if receipt is None:
        offer = read_offer(response.payment_required)
        error = offer.error if isinstance(offer, Offer) else ""
        return f"the seller answered {response.status} without a receipt" + (
            f": {error}" if error else ""
        )
    if receipt.is_success:
        named = receipt.transaction or "no transaction"
        return f"the seller answered {response.status} and reports {named}"
    return f"the seller answered {response.status} and reports {receipt.reason or 'a failure'}"
