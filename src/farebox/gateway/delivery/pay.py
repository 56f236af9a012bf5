"""Settle the payment of a request and begin an attempt to deliver, each at most once."""

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol, assert_never

from farebox.facilitator.settlement import (
    KeyConflict,
    NothingSent,
    NotSettled,
    PaymentIdentity,
    Pending,
    Settled,
    SettleOutcome,
    StoredResponse,
)
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.gateway.delivery import payment_store, reservation_store
from farebox.gateway.delivery.keep_response import ResponseKeeper
from farebox.gateway.delivery.landing import (
    Landing,
    ReservationLost,
    SuccessTaken,
    record_landing,
)
from farebox.gateway.delivery.outcome import (
    AttemptInProgress,
    AttemptStarted,
    LimitKind,
    LimitReached,
    NoAttemptLeft,
    NotPaid,
    PaymentPending,
    PaymentUsed,
    PayOutcome,
    Replayed,
    WrapperChanged,
)
from farebox.gateway.delivery.reservation_store import NewPayment, WrapperCounters
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.gateway.wrapper import Wrapper
from farebox.kernel.clock import Clock
from farebox.storage.faults import Conflict, DatabaseUnavailable
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason

HOLD_S: Final = 75.0  # for the settlement and for an attempt of another call
ATTEMPT_EXTRA_S: Final = 45.0  # beyond the upstream's time, for the last part of the response
_POLL_S: Final = 0.25
_UNSAFE: Final = frozenset({"POST", "PATCH"})  # RFC 9110, section 9.2.2: not idempotent

_HELD_FOR: Final = timedelta(seconds=HOLD_S)
_NOTHING_SENT: Final = (KeyConflict, NothingSent, DatabaseUnavailable)  # of `Settler.settle`


class PaymentSettler(Protocol):
    """Settles payments, as `Settler` does."""

    async def settle(self, request: SettleRequest) -> SettleOutcome | StoredResponse:
        """Bring the payment to the ledger, or find the outcome of an earlier request for it."""
        ...

    async def find_hash(self, identity: PaymentIdentity) -> str:
        """Find the hash recorded for the payment; empty when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class PaidRequest:
    """A request with the payment that is presented for it; both passed every check."""

    new: NewPayment
    settle: SettleRequest

    @property
    def wrapper(self) -> Wrapper:
        """The wrapper that is called."""
        return self.new.wrapper

    @property
    def attempt_for(self) -> timedelta:
        """How long an attempt to deliver may take."""
        return timedelta(seconds=self.wrapper.settings.limits.timeout_s + ATTEMPT_EXTRA_S)

    @property
    def may_repeat(self) -> bool:
        """Whether the upstream may get the request again after an unknown outcome."""
        return self.new.request.method not in _UNSAFE or self.wrapper.settings.is_repeatable


class Payer:
    """Brings a presented payment to an attempt to deliver, or says why there is none."""

    def __init__(
        self, database: Database, settler: PaymentSettler, keeper: ResponseKeeper, clock: Clock
    ) -> None:
        self._database, self._settler = database, settler
        self._keeper, self._clock = keeper, clock

    async def pay(self, request: PaidRequest, known: GatewayPayment | None) -> PayOutcome:
        """Reserve, settle and begin an attempt; or find the state of an earlier request.

        `known` is the payment's row, as `find` has just found it. Calls with the same request wait
        for each other, `HOLD_S` at most: one settles and one sends to the upstream. A reservation
        is released when the payment certainly did not land.

        Raises:
            KeyConflict: the buyer's payment identifier names another payment; nothing was sent.
            NothingSent: the service could not act; the same request may be repeated.
            Outage: likewise.
        """
        until = self._clock.monotonic() + HOLD_S
        while True:
            if known is None:
                outcome = await self._reserve(request)
            elif known.binding != request.new.request.binding():
                return PaymentUsed(known.tx_hash)
            else:
                outcome = await self._continue(request, known)
            if outcome is not None:
                return outcome
            if self._clock.monotonic() >= until:
                return await self._give_up(request)
            await self._clock.sleep(_POLL_S)
            known = await self.find(request)

    async def find(self, request: PaidRequest) -> GatewayPayment | None:
        """Find the payment's row, whichever request it is bound to."""
        async with self._database.connection() as db:
            return await payment_store.find_payment(db, request.new.identity)

    async def _reserve(self, request: PaidRequest) -> PayOutcome | None:
        """Count the request and settle; None when another call has reserved the payment."""
        try:
            async with self._database.connection() as db:
                held = await reservation_store.reserve(db, request.new, held_for=_HELD_FOR)
                if held is None:
                    return _refuse(
                        request.wrapper, await reservation_store.read_counters(db, request.wrapper)
                    )
        except Conflict:
            return None
        return await self._settle(request, held)

    async def _continue(self, request: PaidRequest, known: GatewayPayment) -> PayOutcome | None:
        """Continue the payment of an earlier call for this request; None to look again."""
        match known.state:
            case PaymentState.RESERVED:
                async with self._database.connection() as db:
                    held = await reservation_store.hold_reservation(
                        db, known.identity, held_for=_HELD_FOR
                    )
                return None if held is None else await self._settle(request, held)
            case PaymentState.PAID:
                return await self._begin(request, known)
            case PaymentState.DELIVERED:
                response = await self._keeper.find(known)
                return Replayed(known, response) if response else PaymentUsed(known.tx_hash)
            case PaymentState.OWED | PaymentState.REFUNDED:
                return NoAttemptLeft(known)
            case _:
                assert_never(known.state)

    async def _settle(self, request: PaidRequest, held: GatewayPayment) -> PayOutcome | None:
        """Settle while this call holds the reservation; None to look again."""
        try:
            outcome = await self._settler.settle(request.settle)
        except _NOTHING_SENT:
            await self._end_hold(held)
            raise
        match outcome:
            case Settled(tx_hash=tx_hash):
                return await self._record_paid(request, held, Landing(tx_hash))
            case Pending():
                async with self._database.connection() as db:
                    await reservation_store.release_hold(db, held)
                return PaymentPending(outcome)
            case NotSettled(reason=Reason.FOREIGN_LANDING, tx_hash=tx_hash):
                return await self._record_paid(request, held, Landing(tx_hash, is_foreign=True))
            case NotSettled(reason=Reason.DUPLICATE_SETTLEMENT, tx_hash=tx_hash):
                await self._release(held)
                return PaymentUsed(tx_hash)
            case NotSettled():
                await self._release(held)
                return NotPaid(outcome)
            case StoredResponse():
                raise ValueError("a request without a key has no stored response")
            case _:
                assert_never(outcome)

    async def _end_hold(self, held: GatewayPayment) -> None:
        """End the hold of a call that sent nothing.

        Only the first holder knows that nobody has sent: after an earlier one the payment may still
        land, and reconciliation decides.
        """
        if held.is_first_hold:
            await self._release(held)
            return
        async with self._database.connection() as db:
            await reservation_store.release_hold(db, held)

    async def _release(self, held: GatewayPayment) -> None:
        async with self._database.connection() as db:
            await reservation_store.release(db, held)

    async def _record_paid(
        self, request: PaidRequest, held: GatewayPayment, landing: Landing
    ) -> PayOutcome | None:
        """Record the landed payment and start the first attempt; None to look again."""
        try:
            async with self._database.transaction() as db:
                payment = await record_landing(
                    db,
                    held,
                    landing,
                    at=self._clock.now(),
                    attempt_for=request.attempt_for,
                    may_repeat=request.may_repeat,
                )
        except ReservationLost:
            return None
        except SuccessTaken:
            await self._release(held)
            return PaymentUsed(landing.tx_hash)
        return AttemptStarted(payment)

    async def _begin(self, request: PaidRequest, known: GatewayPayment) -> PayOutcome | None:
        """Begin another attempt; None while one is in progress."""
        if known.attempt_until is not None:
            return None
        if known.attempts_left(self._clock.now()) == 0:
            return NoAttemptLeft(known)
        limits = request.wrapper.settings.limits
        async with self._database.connection() as db:
            started = await payment_store.start_attempt(
                db,
                known.identity,
                known.binding,
                attempt_for=request.attempt_for,
                concurrent_requests=limits.concurrent_requests,
                may_repeat=request.may_repeat,
            )
            if started is not None:
                return AttemptStarted(started)
            counters = await reservation_store.read_counters(db, request.wrapper)
        if counters.in_progress >= limits.concurrent_requests:
            return LimitReached(LimitKind.CONCURRENCY, 1)
        return None

    async def _give_up(self, request: PaidRequest) -> PayOutcome:
        known = await self.find(request)
        if known is None or known.state is PaymentState.RESERVED:
            identity = request.new.identity
            tx_hash = await self._settler.find_hash(identity)
            return PaymentPending(Pending(identity.network, identity.payer, tx_hash))
        return AttemptInProgress(known)


def _refuse(wrapper: Wrapper, counters: WrapperCounters) -> LimitReached | WrapperChanged:
    """Say which limit had no room, as of just after it was met."""
    limits = wrapper.settings.limits
    if not counters.is_current:
        return WrapperChanged()
    if counters.month_count >= limits.monthly_requests:
        return LimitReached(LimitKind.QUOTA, 3600)
    if counters.minute_count >= limits.requests_per_minute:
        return LimitReached(LimitKind.RATE, max(1, math.ceil(counters.seconds_left)))
    return LimitReached(LimitKind.CONCURRENCY, 1)
