"""The price of a proposal's runs, as proposing asks for it."""

from datetime import datetime
from typing import Protocol

from farebox.automation.plans.quote import OfferedQuote, QuotedFees
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.kernel.caller import OwnerId
from farebox.kernel.networks import Network
from farebox.storage.pool import Connection


class Quotes(Protocol):
    """Quotes the runs of plans; `fees` are those of the plan, by simulations."""

    def is_free(self, network: Network) -> bool:
        """Whether runs cost nothing on a network."""
        ...

    async def estimate(
        self,
        owner: OwnerId,
        network: Network,
        *,
        runs: int,
        legs: int,
        fees: QuotedFees,
        now: datetime,
    ) -> OfferedQuote:
        """The quote that a plan would get; nothing is written, and nothing can be paid with it."""
        ...

    async def issue(
        self, db: Connection, terms: PlanTerms, *, runs: int, fees: QuotedFees, now: datetime
    ) -> OfferedQuote:
        """Quote a new plan, in the transaction that inserts it."""
        ...

    async def current(
        self, db: Connection, terms: PlanTerms, *, now: datetime
    ) -> OfferedQuote | None:
        """The newest quote of a plan, which may have expired; None without one."""
        ...
