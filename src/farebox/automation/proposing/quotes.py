"""The price of a proposal's runs, as proposing asks for it; and the price where runs are free."""

from datetime import datetime
from typing import Final, Protocol

from farebox.automation.plans.quote import (
    OfferedQuote,
    PriceList,
    make_quote,
    payment_identifier,
)
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import native_contract
from farebox.storage.pool import Connection

FIRST_REVISION: Final = 1


class Quotes(Protocol):
    """Quotes the runs of plans; `fee` is the highest network fee of all transactions of a run."""

    async def estimate(
        self, owner: OwnerId, network: Network, *, runs: int, fee: Stroops, now: datetime
    ) -> OfferedQuote:
        """The quote that a plan would get; nothing is written, and nothing can be paid with it."""
        ...

    async def issue(
        self, db: Connection, terms: PlanTerms, *, runs: int, fee: Stroops, now: datetime
    ) -> OfferedQuote:
        """Quote a new plan, in the transaction that inserts it."""
        ...

    async def current(
        self, db: Connection, terms: PlanTerms, *, now: datetime
    ) -> OfferedQuote | None:
        """The newest quote of a plan, which may have expired; None without one."""
        ...


class FreeQuotes:
    """The price of a network on which the operator takes nothing for runs: 0, of any number."""

    async def estimate(
        self, owner: OwnerId, network: Network, *, runs: int, fee: Stroops, now: datetime
    ) -> OfferedQuote:
        """See `Quotes`."""
        return _free(network, "", runs=runs, now=now)

    async def issue(
        self, db: Connection, terms: PlanTerms, *, runs: int, fee: Stroops, now: datetime
    ) -> OfferedQuote:
        """See `Quotes`."""
        return _free(terms.network, terms.id, runs=runs, now=now)

    async def current(
        self, db: Connection, terms: PlanTerms, *, now: datetime
    ) -> OfferedQuote | None:
        """See `Quotes`."""
        return _free(terms.network, terms.id, runs=terms.run_limit, now=now)


def _free(network: Network, proposal_id: str, *, runs: int, now: datetime) -> OfferedQuote:
    nothing = BaseUnits(0)
    prices = PriceList(native_contract(network), nothing, nothing, 0, is_free=True)
    revision = FIRST_REVISION if proposal_id else 0
    quote = make_quote(prices, runs=runs, fee_stroops=0, revision=revision, now=now)
    identifier = payment_identifier(proposal_id, revision) if proposal_id else ""
    return OfferedQuote(quote, network, identifier, is_free=True)
