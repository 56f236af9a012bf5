"""End the payments for runs that no call attends to, by the settlement journal."""

from datetime import timedelta
from typing import Final, NoReturn

import structlog

from farebox.automation.credits import run_payment_store
from farebox.automation.credits.end_payment import RunPaymentEnds
from farebox.automation.credits.run_payment import RunPayment
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.storage.pool import Database

EVERY_S: Final = 2.0
_BATCH: Final = 100
_HELD_FOR: Final = timedelta(seconds=30)

log = structlog.get_logger(__name__)


class RunPaymentReconciler:
    """A background loop over pending payments for runs; any number of replicas may run it."""

    def __init__(self, database: Database, ends: RunPaymentEnds, clock: Clock) -> None:
        self._database, self._ends, self._clock = database, ends, clock

    async def run(self) -> NoReturn:
        """Reconcile until cancelled."""
        while True:
            try:
                await self.reconcile()
            except Outage as outage:
                log.warning("automation.payments_wait", part=outage.part)
            await self._clock.sleep(EVERY_S)

    async def reconcile(self) -> int:
        """Look at a bounded number of payments; return how many there were."""
        async with self._database.connection() as db:
            payments = await run_payment_store.list_unattended(db, limit=_BATCH)
        for payment in payments:
            async with self._database.connection() as db:
                held = await run_payment_store.hold(db, payment.id, held_for=_HELD_FOR)
            if held is not None:
                await self._resolve(held)
        return len(payments)

    async def _resolve(self, held: RunPayment) -> None:
        """End one payment; its fault is its own, and keeps none of the others waiting."""
        try:
            await self._ends.resolve(held)
        except Outage:
            raise
        except Exception:
            log.exception("automation.payment_broken", payment=held.id)
