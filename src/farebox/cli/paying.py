"""The dialogue of `farebox pay`: approval, outcome in text and JSON, exit codes."""

import json
from typing import Final, assert_never

import click

from farebox.buyer.authorization import Authorization
from farebox.buyer.choose import describe_price, token_of
from farebox.buyer.offer import Offer, Option, printable
from farebox.buyer.outcome import NothingToPay, Outcome, Paid, PaymentRefused, Undecided, Unpaid
from farebox.buyer.seller_client import SellerResponse
from farebox.buyer.wallet import Wallet
from farebox.cli.exits import confirm, sentence

PAID: Final = 0
REFUSED: Final = 1
UNKNOWN: Final = 3


class PromptingApprover:
    """Prints the price on standard error and asks for approval, unless `is_approved`."""

    def __init__(self, wallet: Wallet, *, is_approved: bool) -> None:
        self._wallet, self._is_approved = wallet, is_approved
        self.option: Option | None = None
        self.authorization: Authorization | None = None

    async def approve(self, offer: Offer, option: Option) -> bool:
        """Print the price and ask whether to pay it."""
        self.option = option
        for line in describe_price(offer, option, payer=self._wallet.address):
            click.echo(line, err=True)
        if self._is_approved:
            return True
        price = token_of(option).show(option.terms.amount)
        return confirm(f"Pay {price}?")

    def on_signed(self, option: Option, authorization: Authorization) -> None:
        """Keep the authorization for the outcome of an interruption."""
        del option
        self.authorization = authorization


def interrupted_outcome(approver: PromptingApprover) -> Outcome:
    """The outcome after Ctrl-C: unpaid, or undecided once something was signed."""
    if approver.authorization is None:
        return Unpaid("Interrupted; nothing was signed.")
    return Undecided("you interrupted it", "", approver.authorization)


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


def response_of(outcome: Outcome) -> SellerResponse | None:
    """The seller's last response to a request that was free or paid, if one arrived."""
    return None if isinstance(outcome, Unpaid) else outcome.response


def describe(outcome: Outcome) -> list[str]:
    """Describe the outcome in sentences."""
    match outcome:
        case Paid(receipt, response):
            lines = [f"Paid: transaction {receipt.transaction}."]
            if response.status >= 300:
                lines.append(
                    f"The seller accepted the payment but answered {response.status}: "
                    "show it that transaction before you pay again."
                )
            return lines
        case NothingToPay(response):
            return _describe_free(response)
        case Unpaid(reason):
            return [sentence(reason)]
        case PaymentRefused(reason, transaction, authorization):
            hint = f" (transaction {transaction})" if transaction else ""
            return [
                sentence(f"The payment was refused: {reason}{hint}"),
                _describe_validity(authorization),
            ]
        case Undecided(reason, transaction, authorization):
            return _describe_undecided(reason, transaction, authorization)
        case _:
            assert_never(outcome)


def _describe_free(response: SellerResponse) -> list[str]:
    if response.location and 300 <= response.status < 400:
        location = printable(response.location)
        return [f"The seller redirects to {location}: pay there if you trust that address."]
    if response.status >= 300:
        return [f"The seller answered {response.status} and asked for no payment."]
    return ["Nothing had to be paid."]


def _describe_undecided(reason: str, transaction: str, authorization: Authorization) -> list[str]:
    named = f"transaction {transaction}" if transaction else f"nonce {authorization.nonce}"
    return [
        f"It is not known yet whether this was paid ({reason.rstrip('.')}): {named}.",
        f"Do not pay again before it is known. {_describe_validity(authorization)}",
    ]


def _describe_validity(authorization: Authorization) -> str:
    return (
        f"Your signature is valid until ledger {authorization.expires_at_ledger}, and never after."
    )


def outcome_json(outcome: Outcome, approver: PromptingApprover) -> str:
    """Render the outcome as one line of JSON."""
    option = approver.option
    body: dict[str, object] = {
        "paid": isinstance(outcome, Paid),
        "outcome": _NAMES[type(outcome)],
        "transaction": _transaction(outcome),
        "said": " ".join(describe(outcome)),
    }
    if option is not None:
        terms = option.terms
        body |= {"network": terms.network, "asset": terms.asset, "amount": str(terms.amount)}
        body |= {"payTo": terms.pay_to}
    if approver.authorization is not None:
        body["nonce"] = str(approver.authorization.nonce)
        body["expiresAtLedger"] = approver.authorization.expires_at_ledger
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
        case Paid(receipt):
            return receipt.transaction
        case PaymentRefused(_, transaction) | Undecided(_, transaction):
            return transaction
        case _:
            return ""
