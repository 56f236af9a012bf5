"""End what no call attends to: reservations, attempts whose process died, payments to be owed."""

from datetime import timedelta
from typing import Final, NoReturn

import structlog

from farebox.facilitator.journal import store as journal_store
from farebox.facilitator.settlement import (
    NotSettled,
    Pending,
    Settled,
    read_outcome_for,
)
from farebox.gateway.delivery import payment_store, reservation_store
from farebox.gateway.delivery.landing import (
    Landing,
    ReservationLost,
    SuccessTaken,
    record_landing,
)
from farebox.gateway.delivery.verdict import state_after_failure
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.storage.pool import Database

EVERY_S: Final = 5.0
_BATCH: Final = 100
_HELD_FOR: Final = timedelta(seconds=30)
# A reservation without a settlement is released after this: any settlement of it has been claimed,
# or has certainly not been sent.
_UNCLAIMED_FOR: Final = timedelta(seconds=150)

log = structlog.get_logger(__name__)


class GatewayReconciler:
    """A background loop over the gateway's open payments; any number of replicas may run it."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def run(self) -> NoReturn:
        """Reconcile until cancelled."""
        while True:
            try:
                while await self.reconcile() == _BATCH:
                    await self._clock.sleep(0)
            except Outage as outage:
                log.warning("gateway.reconcile_waits", part=outage.part)
            await self._clock.sleep(EVERY_S)

    async def reconcile(self) -> int:
        """Look at a bounded number of payments; return how many there were."""
        async with self._database.connection() as db:
            payments = await payment_store.find_unattended(db, limit=_BATCH)
        for payment in payments:
            if payment.state is PaymentState.RESERVED:
                await self._resolve(payment)
            else:
                await self._end(payment)
        return len(payments)

    async def _end(self, payment: GatewayPayment) -> None:
        """End an attempt whose time has passed, or owe a payment without attempts left."""
        state = state_after_failure(payment, may_repeat=payment.may_repeat)
        if payment.attempts_left(self._clock.now()) == 0:
            state = PaymentState.OWED
        async with self._database.connection() as db:
            is_ended = await payment_store.end_unattended(db, payment, state)
        if is_ended:
            log.info("gateway.attempt_ended", tx_hash=payment.tx_hash, state=state)

    async def _resolve(self, payment: GatewayPayment) -> None:
        """Record a reserved payment that has landed, or release one that never will."""
        async with self._database.connection() as db:
            held = await reservation_store.hold_reservation(
                db, payment.identity, held_for=_HELD_FOR
            )
            if held is None:
                return
            (row,) = await journal_store.find_settlements(db, [payment.identity])
        outcome = None if row is None else read_outcome_for(row, held.request_digest)
        match outcome:
            case Settled(tx_hash=tx_hash):
                await self._record_paid(held, Landing(tx_hash))
            case NotSettled(tx_hash=tx_hash) if row and row.is_paid_elsewhere(held.request_digest):
                await self._record_paid(held, Landing(tx_hash, is_foreign=True))
            case NotSettled():
                await self._release(held)
            case Pending():
                await self._release_hold(held)
            case None:
                is_old = self._clock.now() > held.reserved_at + _UNCLAIMED_FOR
                await (self._release(held) if is_old else self._release_hold(held))

    async def _record_paid(self, held: GatewayPayment, landing: Landing) -> None:
        """Record the landed payment; release it where another request has its success."""
        try:
            async with self._database.transaction() as db:
                await record_landing(db, held, landing, at=self._clock.now(), attempt_for=None)
        except ReservationLost:
            return
        except SuccessTaken:
            await self._release(held)
            log.info("gateway.success_taken_elsewhere", tx_hash=landing.tx_hash)
            return
        log.info("gateway.landing_recorded", tx_hash=landing.tx_hash)

    async def _release(self, held: GatewayPayment) -> None:
        async with self._database.connection() as db:
            await reservation_store.release(db, held)

    async def _release_hold(self, held: GatewayPayment) -> None:
        async with self._database.connection() as db:
            await reservation_store.release_hold(db, held)
