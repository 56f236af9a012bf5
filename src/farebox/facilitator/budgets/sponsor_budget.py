"""The sponsor budget of one network as of about a second ago, read without a call."""

from typing import Final

import structlog

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import (
    Budgets,
    BudgetScope,
    Charge,
    Counter,
    judge_charge,
    utc_day,
)
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import Caller, budget_owner
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from farebox.x402.payment import PaymentTerms
from farebox.x402.reasons import Reason

_REFRESH_S: Final = 1.0
_MAX_COUNTERS: Final = 1_000  # of a scope; a payment of any other is refused by the journal

log = structlog.get_logger(__name__)


class SponsorBudget:
    """Refuses early what the journal would refuse to record, and payments below the balance floor.

    The journal applies the same rules to each envelope, exactly. `highest_fee` (stroops) is the
    most that one envelope may cost.
    """

    def __init__(
        self,
        network: Network,
        budgets: Budgets,
        database: Database,
        clock: Clock,
        *,
        highest_fee: Stroops,
    ) -> None:
        self._network, self._budgets, self._dearest = network, budgets, highest_fee
        self._database, self._clock = database, clock
        self._counted: dict[Counter, int] = {}
        self.is_stopped = False
        self.balance_is_low = False  # set by the watch of the relayer's account

    def judge(
        self,
        terms: PaymentTerms,
        payer: Address,
        *,
        stroops: int,
        caller: Caller | None = None,
    ) -> Reason | None:
        """The reason why a payment that costs up to `stroops` is not sponsored now, or None.

        With 0 only the rules that hold for every cost are applied.
        """
        charge = Charge(
            network=self._network,
            day=utc_day(self._clock.now()),
            payer=payer,
            pay_to=terms.pay_to,
            asset=terms.asset,
            asset_is_named=terms.asset in self._budgets.named_assets,
            budget_owner=budget_owner(caller),
            stroops=stroops,
        )
        refusal = judge_charge(charge, self._budgets, self._counted, is_stopped=self.is_stopped)
        if refusal is not None:
            return refusal.reason
        return Reason.SPONSOR_BALANCE_LOW if self.balance_is_low else None

    async def refresh(self) -> None:
        """Read the kill switch and the counters near their limits.

        The cost grows with the number of those counters, not with the day's payers.

        Raises:
            DatabaseUnavailable: the last state is kept.
        """
        near = {
            scope: max(1, limit - (0 if scope is BudgetScope.PAYER_LOSS else self._dearest))
            for scope in BudgetScope
            if (limit := self._budgets.limit(scope))
        }
        async with self._database.connection() as db:
            stopped_at = await budget_store.read_stop_time(db, self._network)
            day = utc_day(self._clock.now())
            self._counted = await budget_store.read_counters_near(
                db, self._network, day, near, each=_MAX_COUNTERS
            )
        if self.is_stopped != (stopped_at is not None):
            self.is_stopped = stopped_at is not None
            log.warning("sponsor.switched", network=self._network.value, stopped=self.is_stopped)

    async def run(self) -> None:
        """Refresh every second until cancelled."""
        while True:
            try:
                await self.refresh()
            except DatabaseUnavailable:
                log.warning("sponsor.database_unavailable", network=self._network.value)
            await self._clock.sleep(_REFRESH_S)
