"""What the demo tells while money moves."""

import json
import time
from collections.abc import Mapping

from farebox.buyer.authorization import Authorization
from farebox.buyer.offer import Offer, Option
from farebox.buyer.price import price_lines
from farebox.buyer.tokens import USDC, format_units
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.local.devnet_binary import Progress
from farebox.local.facilitator_client import Json
from farebox.stellar.rpc import TransactionFound


class Story:
    """Says each step in a line or two, with the seconds since `started_at` (Unix time)."""

    def __init__(self, say: Progress, *, started_at: float) -> None:
        self._say, self._started_at = say, started_at

    def seconds(self) -> float:
        """Since the command began."""
        return round(time.time() - self._started_at, 1)

    def step(self, text: str) -> None:
        """A line with the time it has."""
        self._say(f"[{self.seconds():5.1f} s] {text}")

    def detail(self, text: str) -> None:
        """A line below a step."""
        self._say(f"          {text}")

    def balances(self, when: str, held: Mapping[str, tuple[Address, BaseUnits]]) -> None:
        """What each party holds."""
        self.step(f"balances {when}")
        for name, (address, amount) in held.items():
            self.detail(f"{name:<7}{USDC[Network.TESTNET].show(amount):>16}  {address}")


class TellingPurse:
    """Shows the price and agrees: this is play money."""

    def __init__(self, story: Story, payer: Address) -> None:
        self._story, self._payer = story, payer

    async def agrees(self, offer: Offer, option: Option) -> bool:
        """Always."""
        self._story.step("the API answers 402 with its price in PAYMENT-REQUIRED")
        for line in price_lines(offer, option, payer=self._payer):
            self._story.detail(line.strip())
        return True

    def signed(self, option: Option, authorization: Authorization) -> None:
        """Says what was signed, never the signature."""
        self._story.step("the buyer signs one transfer, on this machine, and asks again with it")
        self._story.detail(
            f"nonce {authorization.nonce}, good until ledger {authorization.expires_at_ledger}"
        )


class TellingWatcher:
    """Shows what the facilitator says to the seller."""

    def __init__(self, story: Story) -> None:
        self._story = story

    def verified(self, verdict: Json) -> None:
        """The answer of `/verify`."""
        self._story.step("the seller asks the facilitator: POST /verify")
        self._story.detail(json.dumps(verdict))

    def settled(self, receipt: Json) -> None:
        """The answer of `/settle`."""
        self._story.step("the seller has the facilitator settle: POST /settle")
        self._story.detail(json.dumps(receipt))


def receipt_line(found: TransactionFound) -> str:
    """Where the payment is on the ledger and what it cost the facilitator."""
    fee = format_units(found.fee_charged)
    return (
        f"transaction {found.hash} is in ledger {found.ledger}; "
        f"the facilitator paid {fee} XLM for it, the buyer none"
    )
