"""The price of a plan's runs (3.17): whole base units, from a simulation of this very plan."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network

QUOTE_LIFE: Final = timedelta(minutes=15)
FEE_MULTIPLE: Final = 3  # of the simulated network fee


@dataclass(frozen=True, slots=True)
class PriceList:
    """The operator's prices in the asset that runs are paid in.

    `units_per_xlm` is what one XLM (10,000,000 stroops) is worth in base units of the asset; 0 for
    a network where runs cost nothing.
    """

    asset: Address
    floor_per_run: BaseUnits
    setup: BaseUnits
    units_per_xlm: int
    is_free: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """The price of `runs` runs of one plan; `revision` rises with each new quote.

    `from_credit` of them are taken from what the owner has paid before.
    """

    revision: int
    runs: int
    per_run: BaseUnits
    setup: BaseUnits
    asset: Address
    valid_until: datetime
    from_credit: int = 0

    @property
    def bought(self) -> int:
        """The runs that are paid for with this quote."""
        return self.runs - self.from_credit

    @property
    def total(self) -> BaseUnits:
        """The whole price, in base units: 0 where credit covers every run."""
        return BaseUnits(self.bought * self.per_run + self.setup if self.bought else 0)

    def is_current(self, now: datetime) -> bool:
        """Whether it may still be paid."""
        return now <= self.valid_until


@dataclass(frozen=True, slots=True)
class OfferedQuote:
    """A quote as its owner gets it; `from_credit` of its runs are paid already.

    `pay_to` is the operator's revenue account; None where runs are free.
    """

    quote: Quote
    network: Network
    payment_identifier: str
    pay_to: Address | None = None
    is_free: bool = False
    from_credit: int = 0


_XLM: Final = 10_000_000  # stroops


def price_run(prices: PriceList, fee_stroops: int) -> BaseUnits:
    """The price of one run whose simulated network fee is `fee_stroops`, rounded up."""
    if prices.is_free:
        return BaseUnits(0)
    fee = -(-FEE_MULTIPLE * fee_stroops * prices.units_per_xlm // _XLM)
    return BaseUnits(max(prices.floor_per_run, fee))


def make_quote(
    prices: PriceList,
    *,
    runs: int,
    fee_stroops: int,
    revision: int,
    now: datetime,
    is_top_up: bool = False,
    credit: int = 0,
) -> Quote:
    """The quote of so many runs; the setup is paid once, and not with a top-up.

    `fee_stroops` is the highest network fee of all transactions of one run, `credit` the paid runs
    that the owner has left: they are used first, and not where runs cost nothing.
    """
    setup = BaseUnits(0) if is_top_up or prices.is_free else prices.setup
    per_run = price_run(prices, fee_stroops)
    used = min(runs, max(0, credit)) if per_run or setup else 0
    return Quote(revision, runs, per_run, setup, prices.asset, now + QUOTE_LIFE, used)


def payment_identifier(proposal_id: str, revision: int) -> str:
    """The identifier that a payment of this quote carries: `auto_…_3`."""
    return f"{proposal_id}_{revision}"
