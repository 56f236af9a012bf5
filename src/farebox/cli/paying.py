"""What a person is asked and told while paying: prices, outcomes, exit codes."""

import json
from dataclasses import dataclass
from typing import Final, assert_never

import click

from farebox.buyer.authorization import Authorization
from farebox.buyer.choose import token_of
from farebox.buyer.offer import Offer, Option, printable
from farebox.buyer.outcome import NothingToPay, NotTaken, Outcome, Paid, Undecided, Unpaid
from farebox.buyer.price import price_lines
from farebox.buyer.wallet import Wallet
from farebox.buyer.web import WebAnswer
from farebox.cli.running import sentence

PAID: Final = 0
REFUSED: Final = 1
UNKNOWN: Final = 3


class AskingPurse:
    """Shows the price on standard error and asks, unless `is_agreed` beforehand."""

    def __init__(self, wallet: Wallet, *, is_agreed: bool) -> None:
        self._wallet, self._is_agreed = wallet, is_agreed
        self.option: Option | None = None
        self.authorization: Authorization | None = None

    async def agrees(self, offer: Offer, option: Option) -> bool:
        """Whether to pay this price."""
        self.option = option
        for line in price_lines(offer, option, payer=self._wallet.address):
            click.echo(line, err=True)
        if self._is_agreed:
            return True
        price = token_of(option).show(option.terms.amount)
        try:
            return click.confirm(f"Pay {price}?", default=False, err=True)
        except click.Abort:  # the end of the input is no yes
            click.echo(err=True)
            return False

    def signed(self, option: Option, authorization: Authorization) -> None:
        """Remembered, so that an interruption knows what was handed out."""
        del option
        self.authorization = authorization


def interrupted(purse: AskingPurse) -> Outcome:
    """What Ctrl-C leaves behind: nothing, or a payment whose fate is unknown."""
    if purse.authorization is None:
        return Unpaid("Interrupted; nothing was signed.")
    return Undecided("you interrupted it", "", purse.authorization)


def exit_code(outcome: Outcome) -> int:
    """0 paid or free, 1 refused or failed, 3 unknown."""
    match outcome:
        case Paid():
            return PAID
        case NothingToPay(answer):
            return PAID if answer.status < 300 else REFUSED
        case Unpaid() | NotTaken():
            return REFUSED
        case Undecided():
            return UNKNOWN
        case _:
            assert_never(outcome)


def answer_of(outcome: Outcome) -> WebAnswer | None:
    """The seller's last answer, if one came after the request was paid or found free."""
    return None if isinstance(outcome, Unpaid) else outcome.answer


def describe(outcome: Outcome) -> list[str]:
    """What happened, in sentences for a person."""
    match outcome:
        case Paid(receipt, answer):
            lines = [f"Paid: transaction {receipt.transaction}."]
            if answer.status >= 300:
                lines.append(
                    f"The seller took the payment but answered {answer.status}: "
                    "show it that transaction before you pay again."
                )
            return lines
        case NothingToPay(answer):
            return _describe_free(answer)
        case Unpaid(why):
            return [sentence(why)]
        case NotTaken(why, transaction, authorization):
            hint = f" (transaction {transaction})" if transaction else ""
            return [f"The payment was refused: {why}{hint}.", _until(authorization)]
        case Undecided(why, transaction, authorization):
            return _describe_undecided(why, transaction, authorization)
        case _:
            assert_never(outcome)


def _describe_free(answer: WebAnswer) -> list[str]:
    if answer.location and 300 <= answer.status < 400:
        where = printable(answer.location)
        return [f"The seller sends you to {where}: pay there if you trust that address."]
    if answer.status >= 300:
        return [f"The seller answered {answer.status} and asked for no payment."]
    return ["Nothing had to be paid."]


def _describe_undecided(why: str, transaction: str, authorization: Authorization) -> list[str]:
    named = f"transaction {transaction}" if transaction else f"nonce {authorization.nonce}"
    return [
        f"Nobody can say yet whether this was paid ({why.rstrip('.')}): {named}.",
        f"Do not pay again before you know. {_until(authorization)}",
    ]


def _until(authorization: Authorization) -> str:
    return (
        "Your signature can still be used until ledger "
        f"{authorization.expires_at_ledger}, and never after."
    )


@dataclass(frozen=True, slots=True)
class Report:
    """An outcome as one line of JSON for a program."""

    outcome: Outcome
    purse: AskingPurse

    def line(self) -> str:
        """The line."""
        outcome, option = self.outcome, self.purse.option
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
        if self.purse.authorization is not None:
            body["nonce"] = str(self.purse.authorization.nonce)
            body["expiresAtLedger"] = self.purse.authorization.expires_at_ledger
        answer = answer_of(outcome)
        if answer is not None:
            body["status"] = answer.status
            body["body"] = answer.body.decode(errors="replace")
        return json.dumps(body)


_NAMES: Final = {
    Paid: "paid",
    NothingToPay: "nothing-to-pay",
    Unpaid: "unpaid",
    NotTaken: "refused",
    Undecided: "unknown",
}


def _transaction(outcome: Outcome) -> str:
    match outcome:
        case Paid(receipt):
            return receipt.transaction
        case NotTaken(_, transaction) | Undecided(_, transaction):
            return transaction
        case _:
            return ""
