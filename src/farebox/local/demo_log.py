"""The lines that the demo prints while it runs."""

import json
import time
from collections.abc import Mapping

from farebox.buyer.choose import describe_price
from farebox.buyer.offer import Offer, Option
from farebox.buyer.signed_payment import SignedPayment
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.local.devnet_binary import Progress
from farebox.local.facilitator_client import Json
from farebox.stellar.known_tokens import USDC, format_units
from farebox.stellar.rpc import TransactionFound


class DemoLog:
    """Prints each step with the seconds since `started_at` (Unix time)."""

    def __init__(self, write: Progress, *, started_at: float) -> None:
        self._write, self._started_at = write, started_at

    def seconds(self) -> float:
        """The seconds since the start."""
        return round(time.time() - self._started_at, 1)

    def step(self, text: str) -> None:
        """Print a line with the time."""
        self._write(f"[{self.seconds():5.1f} s] {text}")

    def detail(self, text: str) -> None:
        """Print a line below a step."""
        self._write(f"          {text}")

    def balances(self, when: str, holdings: Mapping[str, tuple[Address, BaseUnits]]) -> None:
        """Print the balance of each party."""
        self.step(f"balances {when}")
        for name, (address, amount) in holdings.items():
            self.detail(f"{name:<7}{USDC[Network.TESTNET].show(amount):>16}  {address}")


class DemoApprover:
    """Prints the price and approves the payment."""

    def __init__(self, demo_log: DemoLog, payer: Address) -> None:
        self._log, self._payer = demo_log, payer

    async def approve(self, offer: Offer, option: Option) -> bool:
        """Print the price and return True."""
        self._log.step("the API answers 402 with its price in PAYMENT-REQUIRED")
        for line in describe_price(offer, option, payer=self._payer):
            self._log.detail(line.strip())
        return True

    def on_signed(self, payment: SignedPayment) -> None:
        """Print the nonce and the expiry of the authorization."""
        self._log.step(
            "the buyer signs one transfer, on this machine, and repeats the request with it"
        )
        transfer = payment.transfer
        self._log.detail(f"nonce {transfer.nonce}, valid until ledger {transfer.expires_at_ledger}")


class DemoWatcher:
    """Prints the facilitator's responses to the seller."""

    def __init__(self, demo_log: DemoLog) -> None:
        self._log = demo_log

    def on_verified(self, verdict: Json) -> None:
        """Print the response of `/verify`."""
        self._log.step("the seller verifies the payment: POST /verify")
        self._log.detail(json.dumps(verdict))

    def on_settled(self, receipt: Json) -> None:
        """Print the response of `/settle`."""
        self._log.step("the seller settles the payment: POST /settle")
        self._log.detail(json.dumps(receipt))


def receipt_line(transaction: TransactionFound) -> str:
    """Describe the ledger and the fee of the payment's transaction."""
    fee = format_units(transaction.fee_charged)
    return (
        f"transaction {transaction.hash} is in ledger {transaction.ledger}; "
        f"the facilitator paid the fee of {fee} XLM, the buyer none"
    )
