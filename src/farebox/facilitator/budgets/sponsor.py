"""What the operator pays for on one network, as of about a second ago, asked without a call."""

from typing import Final

import structlog

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import (
    Budgets,
    Charge,
    Counter,
    Scope,
    judge_charge,
    utc_day,
)
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import Clock
from farebox.kernel.networks import Network
from farebox.storage.faults import DatabaseUnavailable
from farebox.storage.pool import Database
from farebox.x402.payment import PaymentTerms
from farebox.x402.reasons import Reason

_EVERY_S: Final = 1.0

log = structlog.get_logger(__name__)


class Sponsor:
    """Turns away early what the journal would refuse to write down, and an empty purse.

    It is never the last word: the journal holds each envelope against the same rules, exactly.
    """

    def __init__(
        self,
        network: Network,
        budgets: Budgets,
        database: Database,
        clock: Clock,
        *,
        dearest: Stroops,
    ) -> None:
        self._network, self._budgets, self._dearest = network, budgets, dearest
        self._database, self._clock = database, clock
        self._counted: dict[Counter, int] = {}
        self.is_stopped = False
        self.balance_is_low = False  # as whoever watches the relayer's account last saw it

    def refusal(
        self,
        terms: PaymentTerms,
        payer: Address,
        *,
        stroops: int,
        caller: OwnerId | None = None,
    ) -> Reason | None:
        """Why a payment that costs up to `stroops` is not paid for now; None when it is.

        With 0 only what holds for every price is looked at.
        """
        charge = Charge(
            network=self._network,
            day=utc_day(self._clock.now()),
            payer=payer,
            pay_to=terms.pay_to,
            asset=terms.asset,
            asset_is_named=terms.asset in self._budgets.named_assets,
            caller=caller,
            stroops=stroops,
        )
        over = judge_charge(charge, self._budgets, self._counted, is_stopped=self.is_stopped)
        if over is not None:
            return over.reason
        return Reason.SPONSOR_BALANCE_LOW if self.balance_is_low else None

    async def refresh(self) -> None:
        """Read whether the network is stopped, and every counter near its limit.

        Raises:
            DatabaseUnavailable: what was known stays.
        """
        near = {
            scope: max(1, limit - (0 if scope is Scope.PAYER_LOSS else self._dearest))
            for scope in Scope
            if (limit := self._budgets.limit(scope))
        }
        async with self._database.connection() as db:
            stopped = await budget_store.stopped_since(db, self._network)
            day = utc_day(self._clock.now())
            self._counted = await budget_store.counters_from(db, self._network, day, near)
        if self.is_stopped != (stopped is not None):
            self.is_stopped = stopped is not None
            log.warning("sponsor.switched", network=self._network.value, stopped=self.is_stopped)

    async def run(self) -> None:
        """Refresh for ever."""
        while True:
            try:
                await self.refresh()
            except DatabaseUnavailable:
                log.warning("sponsor.database_away", network=self._network.value)
            await self._clock.sleep(_EVERY_S)
