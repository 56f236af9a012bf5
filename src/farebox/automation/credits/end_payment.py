"""End a payment for runs by what is known of its settlement."""

from datetime import timedelta
from typing import Final

import structlog

from farebox.automation.credits import credit_ledger, credit_payment, run_payment_store
from farebox.automation.credits.credit_payment import LandedPayment, SettlementTaken
from farebox.automation.credits.run_payment import RunPayment, RunPaymentState
from farebox.facilitator.journal import store as journal_store
from farebox.facilitator.settlement import (
    NotSettled,
    Pending,
    Settled,
    Settlement,
    read_outcome_for,
)
from farebox.kernel.clock import Clock
from farebox.storage.faults import Conflict
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason

# Without a settlement in the journal for so long it was certainly not sent: a claim comes first.
_UNCLAIMED_FOR: Final = timedelta(seconds=150)
_UNPROVEN_FOR: Final = timedelta(hours=1)  # between two looks at what cannot be proven

log = structlog.get_logger(__name__)


class RunPaymentEnds:
    """Credits, refutes or leaves a payment that the caller holds; each returns it as it is then."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def end(
        self, held: RunPayment, outcome: Settled | NotSettled | Pending, row: Settlement | None
    ) -> RunPayment:
        """End the payment by the outcome of its settlement; `row` is the journal's, where read.

        What is not final stays pending, and so does what cannot be proven: nobody is asked for a
        second signature before the first one is dead.
        """
        match outcome:
            case Settled(tx_hash=tx_hash):
                return await self.credit(held, LandedPayment(tx_hash))
            case Pending(tx_hash=tx_hash):
                return await self.leave(held, tx_hash)
            case NotSettled(reason=Reason.FOREIGN_LANDING, tx_hash=tx_hash):
                return await self.credit(held, LandedPayment(tx_hash, is_foreign=True))
            case NotSettled() if row and row.is_paid_elsewhere(held.request_digest):
                return await self.credit(held, LandedPayment(outcome.tx_hash, is_foreign=True))
            case NotSettled(reason=Reason.DUPLICATE_SETTLEMENT, tx_hash=tx_hash):
                return await self.credit(held, LandedPayment(tx_hash))
            case NotSettled(reason=Reason.OUTCOME_UNPROVEN, tx_hash=tx_hash):
                log.warning("automation.payment_unproven", payment=held.id, tx_hash=tx_hash)
                return await self.leave(held, tx_hash, look_after=_UNPROVEN_FOR)
            case NotSettled():
                return await self._refuse(held, outcome)

    async def resolve(self, held: RunPayment) -> RunPayment:
        """End the payment by the settlement journal."""
        if held.identity is None:
            raise ValueError("a pending payment has an identity")
        async with self._database.connection() as db:
            (row,) = await journal_store.find_settlements(db, [held.identity])
        if row is not None:
            return await self.end(held, read_outcome_for(row, held.request_digest), row)
        if held.reserved_at is None or self._clock.now() <= held.reserved_at + _UNCLAIMED_FOR:
            return await self.leave(held)
        return await self.refute(held, failure=Reason.SUBMISSION_FAILED, is_over=False)

    async def credit(self, held: RunPayment, landed: LandedPayment) -> RunPayment:
        """Credit a landed payment, once, by whichever call comes first."""
        try:
            async with self._database.transaction() as db:
                credited = await credit_payment.credit_payment(
                    db, held, landed, at=self._clock.now()
                )
        except Conflict as conflict:
            if conflict.constraint != credit_ledger.ONCE:
                raise
            return await self.read(held)
        except SettlementTaken:
            log.warning("automation.success_taken_elsewhere", tx_hash=landed.tx_hash)
            return await self.refute(
                held,
                failure=Reason.DUPLICATE_SETTLEMENT,
                tx_hash=landed.tx_hash,
                is_over=True,
            )
        log.info("automation.runs_credited", payment=held.id, tx_hash=landed.tx_hash)
        return credited

    async def refute(
        self, held: RunPayment, *, failure: str, tx_hash: str = "", is_over: bool
    ) -> RunPayment:
        """Record that the payment certainly did not pay."""
        async with self._database.transaction() as db:
            return await credit_payment.refute_payment(
                db, held, failure=failure, tx_hash=tx_hash, is_over=is_over, at=self._clock.now()
            )

    async def leave(
        self, held: RunPayment, tx_hash: str = "", *, look_after: timedelta = timedelta(0)
    ) -> RunPayment:
        """End the hold of a payment that stays pending."""
        async with self._database.connection() as db:
            await run_payment_store.release_hold(db, held, tx_hash, look_after=look_after)
        return await self.read(held)

    async def read(self, payment: RunPayment) -> RunPayment:
        """Read the payment as it is now."""
        async with self._database.connection() as db:
            return await run_payment_store.find_payment(db, payment.id)

    async def _refuse(self, held: RunPayment, refusal: NotSettled) -> RunPayment:
        """Record a final failure: sent and failed, or certainly not sent.

        Only the first holder knows that nobody has sent anything: after an earlier one, the loop
        decides by the journal.
        """
        if refusal.tx_hash:
            current = await self.read(held)
            if current.state is not RunPaymentState.PENDING:
                return current  # a duplicate of what another call has just credited
            return await self.refute(
                held, failure=refusal.reason, tx_hash=refusal.tx_hash, is_over=True
            )
        if held.holds > 1:
            return await self.leave(held)
        return await self.refute(held, failure=refusal.reason, is_over=False)
