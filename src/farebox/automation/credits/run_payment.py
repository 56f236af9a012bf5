"""A payment for runs: its quote, its state, and the settlement that it waits for."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from farebox.automation.plans.quote import OfferedQuote, PriceList, Quote
from farebox.facilitator.settlement import PaymentIdentity
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network


class RunPaymentState(StrEnum):
    """The state of a payment for runs."""

    QUOTED = "quoted"  # nothing was presented, or what was presented certainly did not land
    PENDING = "pending"  # a payment was presented; its settlement is not final as far as is known
    CONFIRMED = "confirmed"  # landed, and its runs are credited
    FAILED = "failed"  # sent, and it did not pay; the next quote has another revision


@dataclass(frozen=True, slots=True)
class RunSale:
    """What runs cost on one network, and where they are paid: None where they are free."""

    prices: PriceList
    pay_to: Address | None = None


def make_sale(prices: PriceList, pay_to: Address | None) -> RunSale:
    """The sale of these prices; runs are free without an account to pay to, or at prices of 0."""
    is_priced = prices.floor_per_run or prices.setup or prices.units_per_xlm
    is_free = pay_to is None or not is_priced
    own = PriceList(
        prices.asset, prices.floor_per_run, prices.setup, prices.units_per_xlm, is_free=is_free
    )
    return RunSale(own, None if is_free else pay_to)


@dataclass(frozen=True, slots=True)
class RunPayment:
    """A row of the payments for runs.

    `identity` and `request_digest` are of the payment that was presented for it, the last one where
    it is quoted again. `holds` counts the calls that have settled it: only the first one knows that
    nothing was sent.
    """

    id: str
    proposal_id: str
    network: Network
    quote: Quote
    pay_to: Address | None
    identifier: str
    is_top_up: bool
    state: RunPaymentState
    created_at: datetime
    identity: PaymentIdentity | None = None
    request_digest: bytes | None = field(default=None, repr=False)
    tx_hash: str = ""
    failure: str | None = None
    reserved_at: datetime | None = None
    held_until: datetime | None = None
    holds: int = 0

    @property
    def is_free(self) -> bool:
        """Whether nothing is to be paid."""
        return self.quote.total == 0

    @property
    def offered(self) -> OfferedQuote:
        """The quote as the plan's owner gets it."""
        return OfferedQuote(
            self.quote,
            self.network,
            self.identifier,
            pay_to=self.pay_to,
            is_free=self.is_free,
        )

    @property
    def success_id(self) -> UUID:
        """The id under which this payment takes its settlement's success, on every replica."""
        return UUID(bytes=self.request_digest[:16] if self.request_digest else bytes(16))

    def is_paid_by(self, digest: bytes) -> bool:
        """Whether it belongs to the payment of this request digest."""
        return self.request_digest == digest
