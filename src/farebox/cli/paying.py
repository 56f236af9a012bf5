"""The dialogue of `farebox pay`: approval, outcome in text and JSON, exit codes."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final, assert_never

import click

from farebox.buyer.choose import describe_price, token_of
from farebox.buyer.offer import Offer, Option, printable
from farebox.buyer.outcome import NothingToPay, Outcome, Paid, PaymentRefused, Undecided, Unpaid
from farebox.buyer.seller_client import SellerResponse
from farebox.buyer.signed_payment import NodeAddress, SignedPayment, keep_payment
from farebox.buyer.wallet import Wallet
from farebox.cli.exits import confirm, sentence
from farebox.x402.payment import PaymentTerms

PAID: Final = 0
REFUSED: Final = 1
UNKNOWN: Final = 3


@dataclass(slots=True)
class PaymentTrail:
    """What the command knows of its payment so far: terms, signed payment, and its file."""

    terms: PaymentTerms | None = None
    payment: SignedPayment | None = None
    file: Path | None = None


class PromptingApprover:
    """Prints the price on standard error and asks for approval, unless `is_approved`.

    A signed payment is kept in `folder`, with the node that was named for it.
    """

    def __init__(
        self, wallet: Wallet, folder: Path, node: NodeAddress, *, is_approved: bool
    ) -> None:
        self._wallet, self._folder, self._node = wallet, folder, node
        self._is_approved = is_approved
        self.trail = PaymentTrail()

    async def approve(self, offer: Offer, option: Option) -> bool:
        """Print the price and ask whether to pay it."""
        self.trail.terms = option.terms
        for line in describe_price(offer, option, payer=self._wallet.address):
            click.echo(line, err=True)
        if self._is_approved:
            return True
        price = token_of(option).show(option.terms.amount)
        return confirm(f"Pay {price}?")

    def on_signed(self, payment: SignedPayment) -> None:
        """Keep the payment, so that it can be looked for whatever happens to this process.

        Raises:
            PaymentFileRefused: it cannot be kept.
        """
        self.trail.file = keep_payment(self._folder, payment, self._node)
        self.trail.payment = payment


def broken_outcome(trail: PaymentTrail, reason: str) -> Outcome:
    """The outcome of a command that broke off: unpaid, or undecided once something was signed."""
    if trail.payment is None:
        return Unpaid(f"{sentence(reason)[:-1]}; nothing was signed.")
    return Undecided(reason, "", trail.payment)


def exit_code(outcome: Outcome) -> int:
    """Return 0 for paid or free, 1 for refused or failed, 3 for unknown."""
    match outcome:
        case Paid():
            return PAID
        case NothingToPay(response):
            return PAID if response.status < 300 else REFUSED
        case Unpaid() | PaymentRefused():
            return REFUSED
        case Undecided():
            return UNKNOWN
        case _:
            assert_never(outcome)


def is_over(outcome: Outcome) -> bool:
    """Whether the payment's file is of no use any more: nothing to look for, nothing to fetch."""
    match outcome:
        case Paid(_, response):
            return response is not None and response.status < 300
        case Undecided():
            return False
        case _:
            return True


def response_of(outcome: Outcome) -> SellerResponse | None:
    """The seller's last response to a request that was free or paid, if one arrived."""
    return None if isinstance(outcome, Unpaid) else outcome.response


def look_command(file: Path) -> str:
    """The command that looks again for a payment's outcome."""
    return f"farebox pay --look {shlex.quote(str(file))}"


def repeat_command(file: Path) -> str:
    """The command that sends the very same payment again."""
    return f"farebox pay --repeat {shlex.quote(str(file))}"


def describe(outcome: Outcome, file: Path | None = None) -> list[str]:
    """Describe the outcome in sentences; `file` is the payment's, where there is one."""
    match outcome:
        case Paid():
            return _describe_paid(outcome, file)
        case NothingToPay(response):
            return _describe_free(response)
        case Unpaid(reason):
            return [sentence(reason)]
        case PaymentRefused(reason, payment):
            last = payment.transfer.expires_at_ledger
            proof = (
                f"Nothing was charged: your signature was valid until ledger {last}, which has "
                "closed, and the ledger does not have the payment."
            )
            return [sentence(f"The payment was refused: {reason}"), proof]
        case Undecided():
            return _describe_undecided(outcome, file)
        case _:
            assert_never(outcome)


def _describe_paid(outcome: Paid, file: Path | None) -> list[str]:
    lines = [f"Paid: transaction {outcome.transaction}."]
    response = outcome.response
    if response is not None and response.status < 300:
        if response.is_cut:
            lines.append("The response is longer than 16 MB: its end is left out.")
        return lines
    missing = (
        "no response has come" if response is None else f"the seller answered {response.status}"
    )
    lines.append(f"The transfer is on the ledger, and {missing}: do not pay again.")
    if file is not None:
        lines.append(f"The same payment is not charged again: {repeat_command(file)}")
    return lines


def _describe_free(response: SellerResponse) -> list[str]:
    if response.location and 300 <= response.status < 400:
        location = printable(response.location)
        return [f"The seller redirects to {location}: pay there if you trust that address."]
    if response.status >= 300:
        return [f"The seller answered {response.status} and asked for no payment."]
    return ["Nothing had to be paid."]


def _describe_undecided(outcome: Undecided, file: Path | None) -> list[str]:
    transfer = outcome.payment.transfer
    named = f"nonce {transfer.nonce}"
    if outcome.reported:
        named = f"transaction {outcome.reported}, {named}"
    reason = outcome.reason.rstrip(".")
    is_known = "It is not known yet whether this was paid"
    if outcome.is_reported:
        is_known = "Reported as paid, which no node has shown"
    validity = (
        f"Your signature is valid until ledger {transfer.expires_at_ledger}, and never after."
    )
    lines = [
        f"{is_known} ({reason}): {named}.",
        f"Do not pay again before it is known. {validity}",
    ]
    if file is not None:
        lines.append(f"To look again: {look_command(file)}")
    return lines


def outcome_json(outcome: Outcome, trail: PaymentTrail) -> str:
    """Render the outcome as one line of JSON."""
    body: dict[str, object] = {
        "paid": isinstance(outcome, Paid),
        "outcome": _NAMES[type(outcome)],
        "transaction": _transaction(outcome),
        "said": " ".join(describe(outcome, trail.file)),
    }
    transfer = None if trail.payment is None else trail.payment.transfer
    terms = transfer or trail.terms
    if terms is not None:
        body |= {"network": terms.network, "asset": terms.asset, "amount": str(terms.amount)}
        body |= {"payTo": terms.pay_to}
    if transfer is not None:
        body |= {"nonce": str(transfer.nonce), "expiresAtLedger": transfer.expires_at_ledger}
    if trail.file is not None and not is_over(outcome):
        body |= {"look": look_command(trail.file), "repeat": repeat_command(trail.file)}
    response = response_of(outcome)
    if response is not None:
        body["status"] = response.status
        body["body"] = response.body.decode(errors="replace")
    return json.dumps(body)


_NAMES: Final = {
    Paid: "paid",
    NothingToPay: "nothing-to-pay",
    Unpaid: "unpaid",
    PaymentRefused: "refused",
    Undecided: "unknown",
}


def _transaction(outcome: Outcome) -> str:
    match outcome:
        case Paid(transaction):
            return transaction
        case Undecided(_, reported):
            return reported
        case _:
            return ""
