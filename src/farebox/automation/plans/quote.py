"""The price of a plan's runs (3.17): whole base units, from a simulation of this very plan."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network

NO_UNITS: Final = BaseUnits(0)
QUOTE_LIFE: Final = timedelta(minutes=15)
FEE_MULTIPLE: Final = 3  # of the simulated network fee: a run costs its owner so much
INSTALL_MARGIN: Final = (3, 2)  # of the simulated fee of an installation: likewise


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
class QuotedFees:
    """The network fees by which a plan is priced, in stroops, by simulations of this very plan.

    `run` is the most that a transaction of a run costs, `install` the most that its installation
    costs; None where the paymaster installs nothing.
    """

    run: Stroops
    install: Stroops | None = None


@dataclass(frozen=True, slots=True)
class FreshFees:
    """The same as of now; `run` is None where a run would fail."""

    run: Stroops | None
    install: Stroops | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """The price of `runs` runs of one plan; `revision` rises with each new quote.

    `credit` is the part of the price that is taken from what the owner has paid before.
    """

    revision: int
    runs: int
    per_run: BaseUnits
    setup: BaseUnits
    asset: Address
    valid_until: datetime
    fees: QuotedFees
    credit: BaseUnits = NO_UNITS

    @property
    def price(self) -> BaseUnits:
        """The whole price, in base units."""
        return BaseUnits(self.runs * self.per_run + self.setup)

    @property
    def total(self) -> BaseUnits:
        """What is to be paid: 0 where credit covers the price."""
        return BaseUnits(self.price - self.credit)

    @property
    def from_credit(self) -> int:
        """The runs that the credit pays in whole."""
        return min(self.runs, self.credit // self.per_run) if self.per_run else 0

    def is_current(self, now: datetime) -> bool:
        """Whether it may still be paid."""
        return now <= self.valid_until


@dataclass(frozen=True, slots=True)
class OfferedQuote:
    """A quote as its owner gets it.

    `pay_to` is the operator's revenue account; None where runs are free.
    """

    quote: Quote
    network: Network
    payment_identifier: str
    pay_to: Address | None = None
    is_free: bool = False


_XLM: Final = 10_000_000  # stroops


def price_run(prices: PriceList, fee_stroops: int) -> BaseUnits:
    """The price of one run whose simulated network fee is `fee_stroops`, rounded up."""
    if prices.is_free:
        return NO_UNITS
    return BaseUnits(max(prices.floor_per_run, _units(prices, FEE_MULTIPLE * fee_stroops)))


def price_setup(prices: PriceList, install: Stroops | None) -> BaseUnits:
    """The price of a plan besides its runs: what the paymaster may spend on its installation."""
    if prices.is_free:
        return NO_UNITS
    limit = install_limit(install)
    if limit is None:
        return prices.setup
    return BaseUnits(max(prices.setup, prices.floor_per_run, _units(prices, limit)))


def install_limit(install: Stroops | None) -> Stroops | None:
    """The most that an installation may cost, for which a plan pays; None without one."""
    more, whole = INSTALL_MARGIN
    return None if install is None else Stroops(-(-install * more // whole))


def make_quote(
    prices: PriceList,
    *,
    runs: int,
    legs: int,
    fees: QuotedFees,
    revision: int,
    now: datetime,
    is_top_up: bool = False,
    credit: int = 0,
) -> Quote:
    """The quote of so many runs of `legs` transactions; the setup is not paid with a top-up.

    `credit` is what the owner has left in the asset: it is used first.
    """
    quote = Quote(
        revision=revision,
        runs=runs,
        per_run=price_run(prices, fees.run * legs),
        setup=NO_UNITS if is_top_up else price_setup(prices, fees.install),
        asset=prices.asset,
        valid_until=now + QUOTE_LIFE,
        fees=fees,
    )
    return replace(quote, credit=BaseUnits(min(quote.price, max(0, credit))))


def _units(prices: PriceList, stroops: int) -> int:
    """What so many stroops are worth in base units of the asset, rounded up."""
    return -(-stroops * prices.units_per_xlm // _XLM)


def payment_identifier(proposal_id: str, revision: int) -> str:
    """The identifier that a payment of this quote carries: `auto_…_3`."""
    return f"{proposal_id}_{revision}"
