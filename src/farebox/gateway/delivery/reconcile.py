"""End what no call attends to: reservations, attempts whose process died, payments to be owed."""

from datetime import timedelta
from typing import Final, NoReturn

import structlog

from farebox.facilitator.journal import store as journal_store
from farebox.facilitator.settlement import (
    LANDED_ELSEWHERE,
    NotSettled,
    Pending,
    Settled,
    read_outcome,
)
from farebox.gateway.delivery import payment_store, reservation_store
from farebox.gateway.delivery.landing import ReservationLost, SuccessTaken, record_landing
from farebox.gateway.delivery.verdict import state_after_failure
from farebox.gateway.payment import UNPROVEN_EVERY, GatewayPayment, PaymentState
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason

EVERY_S: Final = 5.0
_FULL_PAUSE_S: Final = 0.25  # after a pass that had as many payments as it takes
_BATCH: Final = 100  # of each network
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
        """Reconcile until cancelled, with a pause after every pass."""
        while True:
            most = await self.reconcile()
            await self._clock.sleep(_FULL_PAUSE_S if most == _BATCH else EVERY_S)

    async def reconcile(self) -> int:
        """Look at a bounded number of payments of each network, whatever the others have.

        Returns the largest number that a network had.
        """
        most = 0
        for network in Network:
            try:
                most = max(most, await self._reconcile_network(network))
            except Outage as outage:
                log.warning("gateway.reconcile_waits", part=outage.part, network=network)
        return most

    async def _reconcile_network(self, network: Network) -> int:
        async with self._database.connection() as db:
            payments = await payment_store.take_unattended(db, network, limit=_BATCH)
        for payment in payments:
            try:
                await self._look_at(payment)
            except Outage:
                raise
            except Exception:  # its own fault: its next look is set, and the others go on
                log.exception("gateway.payment_not_reconciled", **_names(payment))
        return len(payments)

    async def _look_at(self, payment: GatewayPayment) -> None:
        if payment.state is PaymentState.RESERVED:
            await self._resolve(payment)
        else:
            await self._end(payment)

    async def _end(self, payment: GatewayPayment) -> None:
        """End an attempt whose time has passed, or owe a payment without attempts left."""
        state = state_after_failure(payment, may_repeat=payment.may_repeat)
        is_over = payment.attempts_left(self._clock.now()) == 0
        if is_over or payment.attempt_until is None:  # without one: its wrapper is deleted
            state = PaymentState.OWED
        async with self._database.connection() as db:
            is_ended = await payment_store.end_unattended(db, payment, state)
        if is_ended:
            log.info("gateway.attempt_ended", state=state, **_names(payment))

    async def _resolve(self, payment: GatewayPayment) -> None:
        """Record a reserved payment that has landed, or release one that never will."""
        async with self._database.connection() as db:
            held = await reservation_store.hold_reservation(db, payment, held_for=_HELD_FOR)
            if held is None:
                return
            (row,) = await journal_store.find_settlements(db, [held.identity])
        is_ours = row is not None and row.request_digest == held.request_digest
        match None if row is None else read_outcome(row):
            case None:
                is_old = self._clock.now() > held.reserved_at + _UNCLAIMED_FOR
                await (self._release(held) if is_old else self._release_hold(held))
            case Pending():
                await self._release_hold(held)
            case NotSettled(reason=Reason.OUTCOME_UNPROVEN) if is_ours:
                async with self._database.connection() as db:
                    await reservation_store.leave_unproven(db, held, look_after=UNPROVEN_EVERY)
            case Settled(tx_hash=tx_hash):
                await self._record_paid(held, tx_hash)
            case NotSettled(reason=reason, tx_hash=tx_hash) if reason in LANDED_ELSEWHERE:
                await self._record_paid(held, tx_hash)
            case NotSettled():
                await self._release(held)

    async def _record_paid(self, held: GatewayPayment, tx_hash: str) -> None:
        """Record the landed payment; release it where another request has its success."""
        try:
            async with self._database.transaction() as db:
                await record_landing(db, held, tx_hash, at=self._clock.now(), attempt_for=None)
        except ReservationLost:
            return
        except SuccessTaken:
            await self._release(held)
            log.info("gateway.success_taken_elsewhere", tx_hash=tx_hash)
            return
        log.info("gateway.landing_recorded", tx_hash=tx_hash)

    async def _release(self, held: GatewayPayment) -> None:
        async with self._database.connection() as db:
            await reservation_store.release(db, held)

    async def _release_hold(self, held: GatewayPayment) -> None:
        async with self._database.connection() as db:
            await reservation_store.release_hold(db, held)


def _names(payment: GatewayPayment) -> dict[str, str]:
    return {"tx_hash": payment.tx_hash, "network": payment.identity.network.value}
