"""End a payment for runs by what is known of its settlement."""

from datetime import timedelta
from typing import Final

import structlog

from farebox.automation.credits import credit_ledger, credit_payment, run_payment_store
from farebox.automation.credits.credit_payment import SettlementTaken
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

    async def end(self, held: RunPayment, outcome: Settled | NotSettled | Pending) -> RunPayment:
        """End the payment by the outcome of its settlement.

        What is not final stays pending, and so does what cannot be proven: nobody is asked for a
        second signature before the first one is dead.
        """
        match outcome:
            case Settled(tx_hash=tx_hash):
                return await self.credit(held, tx_hash)
            case Pending(tx_hash=tx_hash):
                return await self.leave(held, tx_hash)
            case NotSettled(reason=Reason.OUTCOME_UNPROVEN, tx_hash=tx_hash):
                log.warning("automation.payment_unproven", payment=held.id, tx_hash=tx_hash)
                return await self.leave(held, tx_hash, look_after=_UNPROVEN_FOR)
            case NotSettled():
                return await self._judge(held, outcome)

    async def resolve(self, held: RunPayment) -> RunPayment:
        """End the payment by the settlement journal."""
        row = await self.find_settlement(held)
        if row is not None:
            return await self.end(held, read_outcome_for(row, held.request_digest))
        if held.reserved_at is None or self._clock.now() <= held.reserved_at + _UNCLAIMED_FOR:
            return await self.leave(held)
        return await self.refute(held, failure=Reason.SUBMISSION_FAILED, is_over=False)

    async def find_settlement(self, held: RunPayment) -> Settlement | None:
        """The journal's row of a presented payment; None while nobody has claimed it."""
        if held.identity is None:
            return None
        async with self._database.connection() as db:
            (row,) = await journal_store.find_settlements(db, [held.identity])
        return row

    async def credit(self, held: RunPayment, tx_hash: str) -> RunPayment:
        """Credit a payment that landed in a transaction, once, by whichever call comes first."""
        try:
            async with self._database.transaction() as db:
                credited = await credit_payment.credit_payment(
                    db, held, tx_hash, at=self._clock.now()
                )
        except Conflict as conflict:
            if conflict.constraint != credit_ledger.ONCE:
                raise
            return await self.read(held)
        except SettlementTaken:
            log.warning("automation.success_taken_elsewhere", tx_hash=tx_hash)
            return await self.refute(
                held,
                failure=Reason.DUPLICATE_SETTLEMENT,
                tx_hash=tx_hash,
                is_over=True,
            )
        log.info("automation.runs_credited", payment=held.id, tx_hash=tx_hash)
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

    async def _judge(self, held: RunPayment, refusal: NotSettled) -> RunPayment:
        """End a payment of which the settlement says that it failed, or is a duplicate.

        It has paid all the same where the journal has its own row, by its own digest, and that
        landed: whoever asked for the settlement, and in whichever transaction. What somebody else
        landed before it was claimed here pays for nothing.
        """
        row = await self.find_settlement(held)
        if row is not None and row.has_paid(held.request_digest):
            return await self.credit(held, row.tx_hash)
        if refusal.tx_hash:
            current = await self.read(held)
            if current.state is not RunPaymentState.PENDING:
                return current  # a duplicate of what another call has just credited
            is_foreign = refusal.reason is Reason.FOREIGN_LANDING
            failure = Reason.DUPLICATE_SETTLEMENT if is_foreign else refusal.reason
            return await self.refute(held, failure=failure, tx_hash=refusal.tx_hash, is_over=True)
        return await self.end_unsent(held, refusal.reason, is_over=False)

    async def end_unsent(self, held: RunPayment, failure: str, *, is_over: bool) -> RunPayment:
        """End the hold of a call that sent nothing.

        Only the first holder of a payment that nobody else has claimed knows that nothing was sent:
        after an earlier one, or while another caller settles it, the loop decides by the journal.
        """
        row = await self.find_settlement(held)
        may_land = row is not None and row.may_have_paid(held.request_digest)
        if may_land or (row is None and held.holds > 1):
            return await self.leave(held)
        return await self.refute(held, failure=failure, is_over=is_over)
