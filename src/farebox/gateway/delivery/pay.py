"""Settle the payment of a request and begin an attempt to deliver, each at most once."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Protocol, assert_never

import structlog

from farebox.facilitator.journal import store as journal_store
from farebox.facilitator.settlement import (
    LANDED_ELSEWHERE,
    KeyConflict,
    NothingSent,
    NotSettled,
    PaymentIdentity,
    Pending,
    Settled,
    SettleOutcome,
    StoredResponse,
    build_duplicate,
)
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.facilitator.verification.verdict import Accepted
from farebox.gateway.delivery import payment_store, reservation_store
from farebox.gateway.delivery.admission import PaymentAdmission, SettlementJudge
from farebox.gateway.delivery.keep_response import ResponseKeeper
from farebox.gateway.delivery.landing import ReservationLost, SuccessTaken, record_landing
from farebox.gateway.delivery.outcome import (
    AttemptInProgress,
    AttemptStarted,
    LandingNotRecorded,
    LimitKind,
    LimitReached,
    NoAttemptLeft,
    NotPaid,
    NotServed,
    PaymentPending,
    PaymentUsed,
    PayOutcome,
    Replayed,
    WrapperChanged,
)
from farebox.gateway.delivery.pass_response import BuyerLeft, ResponseWriter
from farebox.gateway.delivery.reservation_store import NewPayment
from farebox.gateway.payment import (
    UNPROVEN_EVERY,
    GatewayPayment,
    PaymentState,
    PresentedRequest,
)
from farebox.gateway.relay.relay import UpstreamSlot
from farebox.gateway.wrapper import Wrapper
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.storage.faults import Conflict, DatabaseUnavailable
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason

HOLD_S: Final = 75.0  # for the settlement and for an attempt of another call
ATTEMPT_EXTRA_S: Final = 45.0  # beyond the upstream's time, for the last part of the response
_POLL_S: Final = 0.25
_UNSAFE: Final = frozenset({"POST", "PATCH"})  # RFC 9110, section 9.2.2: not idempotent

_HELD_FOR: Final = timedelta(seconds=HOLD_S)
_NOTHING_SENT: Final = (KeyConflict, NothingSent, DatabaseUnavailable)  # of `Settler.settle`

log = structlog.get_logger(__name__)


class PaymentSettler(SettlementJudge, Protocol):
    """Settles payments, as `Settler` does."""

    async def settle(
        self, request: SettleRequest, *, accepted: Accepted | None = None
    ) -> SettleOutcome | StoredResponse:
        """Bring the payment to the ledger, or find the outcome of an earlier request for it."""
        ...

    async def find_hash(self, identity: PaymentIdentity) -> str:
        """Find the hash recorded for the payment; empty when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class PaidRequest:
    """A request with the payment that is presented for it; both passed every check.

    `slot` is taken by the one call that acts for the payment. `buyer` waits for the response.
    `is_for_sale`: the payment is for the wrapper's terms of now. Another one may only continue a
    request that was paid before.
    """

    new: NewPayment
    settle: SettleRequest
    slot: UpstreamSlot
    buyer: ResponseWriter
    is_private: bool  # the payment holds an identifier, which is on no ledger
    is_for_sale: bool = True

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

    @property
    def presented(self) -> PresentedRequest:
        """The request and its payment as they were received."""
        new = self.new
        return PresentedRequest(
            new.identity,
            new.request.binding(),
            new.request_digest,
            new.presented_digest,
            is_private=self.is_private,
        )


class Payer:
    """Brings a presented payment to an attempt to deliver, or says why there is none."""

    def __init__(
        self, database: Database, settler: PaymentSettler, keeper: ResponseKeeper, clock: Clock
    ) -> None:
        self._database, self._settler = database, settler
        self._keeper, self._clock = keeper, clock
        self._admission = PaymentAdmission(database, settler)

    async def pay(self, request: PaidRequest, known: GatewayPayment | None) -> PayOutcome:
        """Judge, reserve, settle and begin an attempt; or find the state of an earlier request.

        `known` is the payment's row, as `find` has just found it. Calls with the same request wait
        for each other, `HOLD_S` at most: one settles and one sends to the upstream. A reservation
        is released when the payment certainly did not land.

        Raises:
            BuyerLeft: the buyer was gone before the call had a reservation; it sent nothing.
            UpstreamUnavailable: there is no slot for the request; nothing was sent.
            KeyConflict: the buyer's payment identifier names another payment; nothing was sent.
            NothingSent: the service could not act; the same request may be repeated.
            Outage: likewise.
        """
        until = self._clock.monotonic() + HOLD_S
        while True:
            try:
                outcome = await self._look(request, known)
                if outcome is not None:
                    return outcome
                request.slot.release()
                if self._clock.monotonic() >= until:
                    return await self._give_up(request)
                await self._clock.sleep(_POLL_S)
                known = await self.find(request.new.identity)
            except Outage:
                if known is None or not known.tx_hash or not request.presented.owns(known):
                    raise
                return LandingNotRecorded(known)

    async def _look(self, request: PaidRequest, known: GatewayPayment | None) -> PayOutcome | None:
        """Bring the payment one step on; None to look again.

        What has not landed, as far as is known, is not settled for a buyer who has left.
        """
        if known is None or known.state is PaymentState.RESERVED:
            _check_presence(request)
        if known is not None:
            return await self._continue(request, known)
        return await self._admit(request) if request.is_for_sale else WrapperChanged()

    async def find(self, identity: PaymentIdentity) -> GatewayPayment | None:
        """Find the payment's row, whichever request it is bound to."""
        async with self._database.connection() as db:
            return await payment_store.find_payment(db, identity)

    async def _admit(self, request: PaidRequest) -> PayOutcome | None:
        """Judge a new payment and count its request once accepted; None to look again."""
        verdict = await self._admission.judge_payment(request.new, request.settle)
        if isinstance(verdict, NotPaid | LimitReached | WrapperChanged):
            return verdict
        _check_presence(request)
        return await self._reserve(request, verdict)

    async def _reserve(self, request: PaidRequest, accepted: Accepted | None) -> PayOutcome | None:
        """Count the request and settle; None when another call has reserved the payment."""
        request.slot.take_unpaid()
        try:
            async with self._database.connection() as db:
                held = await reservation_store.reserve(db, request.new, held_for=_HELD_FOR)
        except Conflict:
            return None
        if held is None:
            request.slot.release()
            full = await self._admission.find_limit(request.wrapper)
            return full or LimitReached(LimitKind.CONCURRENCY, 1)  # there is room since
        return await self._settle(request, held, accepted)

    async def _continue(self, request: PaidRequest, known: GatewayPayment) -> PayOutcome | None:
        """Continue the payment of an earlier call for this request; None to look again."""
        presented = request.presented
        is_ours = presented.owns(known) and known.wrapper_id == request.wrapper.id
        if not is_ours or known.state is PaymentState.DELIVERED:
            return await self.find_state(presented, known)
        if known.state is PaymentState.PAID:
            return await self._begin(request, known)
        if known.state is PaymentState.RESERVED:
            async with self._database.connection() as db:
                held = await reservation_store.hold_reservation(db, known, held_for=_HELD_FOR)
            if held is None:
                return None
            if not request.slot.take():
                await self._end_hold(held)
                return await self._await_outcome(known.identity)
            return await self._settle(request, held)
        return NoAttemptLeft(known)

    async def find_state(
        self, presented: PresentedRequest, known: GatewayPayment
    ) -> Replayed | PaymentUsed | PaymentPending | NotServed | NoAttemptLeft:
        """Find the state of a payment that is not continued now: nothing is settled or sent."""
        if not presented.owns(known):
            tx_hash = known.tx_hash or await self._settler.find_hash(known.identity)
            return PaymentUsed(tx_hash)
        match known.state:
            case PaymentState.RESERVED:
                return await self._await_outcome(known.identity)
            case PaymentState.PAID if known.attempts_left(self._clock.now()):
                return NotServed(known)
            case PaymentState.DELIVERED:
                is_shown = presented.may_get_again(known, self._clock.now())
                response = await self._keeper.find(known) if is_shown else None
                return Replayed(known, response) if response else PaymentUsed(known.tx_hash)
            case _:
                return NoAttemptLeft(known)

    async def _settle(
        self, request: PaidRequest, held: GatewayPayment, accepted: Accepted | None = None
    ) -> PayOutcome | None:
        """Settle while this call holds the reservation; None to look again."""
        try:
            outcome = await self._settler.settle(request.settle, accepted=accepted)
        except _NOTHING_SENT:
            await self._end_hold(held)
            raise
        match outcome:
            case Settled(tx_hash=tx_hash):
                return await self._record_settled(request, held, tx_hash)
            case Pending():
                async with self._database.connection() as db:
                    await reservation_store.release_hold(db, held)
                return PaymentPending(outcome)
            case NotSettled(reason=reason, tx_hash=tx_hash) if reason in LANDED_ELSEWHERE:
                is_used = reason is Reason.DUPLICATE_SETTLEMENT
                duplicate = build_duplicate(held.identity, tx_hash)
                otherwise = PaymentUsed(tx_hash) if is_used else NotPaid(duplicate)
                return await self._record_paid(request, held, tx_hash, otherwise=otherwise)
            case NotSettled(reason=Reason.OUTCOME_UNPROVEN):
                return await self._leave_unproven(held, outcome)
            case NotSettled():
                await self._release(held)
                return NotPaid(outcome)
            case StoredResponse():
                raise ValueError("a request without a key has no stored response")
            case _:
                assert_never(outcome)

    async def _leave_unproven(self, held: GatewayPayment, outcome: NotSettled) -> PayOutcome:
        """Keep the reservation of a payment whose outcome cannot be proven."""
        identity = held.identity
        async with self._database.connection() as db:
            (row,) = await journal_store.find_settlements(db, [identity])
            is_ours = row is not None and row.request_digest == held.request_digest
            if is_ours:
                await reservation_store.leave_unproven(db, held, look_after=UNPROVEN_EVERY)
        if not is_ours:
            await self._release(held)
            return PaymentUsed(outcome.tx_hash)
        pending = Pending(identity.network, identity.payer, outcome.tx_hash)
        return PaymentPending(pending, Reason.OUTCOME_UNPROVEN)

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

    async def _record_settled(
        self, request: PaidRequest, held: GatewayPayment, tx_hash: str
    ) -> PayOutcome | None:
        """Record the payment that this request has settled; it has landed, whatever is lost now."""
        try:
            return await self._record_paid(request, held, tx_hash, otherwise=PaymentUsed(tx_hash))
        except Outage:
            log.warning("gateway.landing_not_recorded", tx_hash=tx_hash)
            return LandingNotRecorded(replace(held, tx_hash=tx_hash, attempts=0))

    async def _record_paid(
        self, request: PaidRequest, held: GatewayPayment, tx_hash: str, *, otherwise: PayOutcome
    ) -> PayOutcome | None:
        """Record the landed payment and start the first attempt; None to look again.

        `otherwise` is the outcome where the payment is not this request's.
        """
        try:
            async with self._database.transaction() as db:
                payment = await record_landing(
                    db,
                    held,
                    tx_hash,
                    at=self._clock.now(),
                    attempt_for=request.attempt_for,
                )
        except Outage:
            known = await self.find(held.identity)
            if known is None or not _is_first_attempt(known, held):
                raise
            payment = known
        except ReservationLost:  # what has landed for this request is its own at any terms
            is_known = await self.find(request.new.identity) is not None
            return None if is_known else await self._reserve(request, None)
        except SuccessTaken:
            await self._release(held)
            return otherwise
        return NoAttemptLeft(payment) if payment.attempts == 0 else AttemptStarted(payment)

    async def _begin(self, request: PaidRequest, known: GatewayPayment) -> PayOutcome | None:
        """Begin another attempt; None while one is in progress."""
        if known.attempt_until is not None:
            return None
        if known.attempts_left(self._clock.now()) == 0:
            return NoAttemptLeft(known)
        if not request.slot.take():
            return NotServed(known)
        limits = request.wrapper.settings.limits
        async with self._database.connection() as db:
            started = await payment_store.start_attempt(
                db,
                known,
                attempt_for=request.attempt_for,
                concurrent_requests=limits.concurrent_requests,
            )
            if started is not None:
                return AttemptStarted(started)
            counters = await reservation_store.read_counters(db, request.wrapper)
        return NotServed(known) if counters.in_progress >= limits.concurrent_requests else None

    async def _give_up(self, request: PaidRequest) -> PayOutcome:
        known = await self.find(request.new.identity)
        if known is None or known.state is PaymentState.RESERVED:
            return await self._await_outcome(request.new.identity)
        return AttemptInProgress(known)

    async def _await_outcome(self, identity: PaymentIdentity) -> PaymentPending:
        """Leave the outcome to another call, or to reconciliation."""
        tx_hash = await self._settler.find_hash(identity)
        return PaymentPending(Pending(identity.network, identity.payer, tx_hash))


def _check_presence(request: PaidRequest) -> None:
    if request.buyer.has_left:
        raise BuyerLeft


def _is_first_attempt(known: GatewayPayment, held: GatewayPayment) -> bool:
    """Whether the row is what the holder wrote by a commit whose answer was lost.

    Nobody else can have written it: another holder, and another attempt, has a higher epoch.
    """
    written = (PaymentState.PAID, held.reserved_at, held.epoch + 1, 1)
    return (known.state, known.reserved_at, known.epoch, known.attempts) == written
