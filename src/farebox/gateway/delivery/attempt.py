"""The record of one attempt to deliver: its lease, what is sent in it, and how it ends."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeVar

import structlog

from farebox.gateway.delivery import payment_store
from farebox.gateway.delivery.keep_response import ResponseKeeper
from farebox.gateway.delivery.kept_response import KeptResponse, SealedResponse
from farebox.gateway.delivery.pass_response import AttemptLost
from farebox.gateway.delivery.payment_row import fence_of
from farebox.gateway.delivery.verdict import state_after_failure
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.kernel.clock import Clock
from farebox.kernel.errors import Outage
from farebox.storage.pool import Connection, Database

T = TypeVar("T")
_RECORD_TRIES: Final = 5
_RECORD_PAUSE_S: Final = 0.2

log = structlog.get_logger(__name__)


class DeliveryFault(StrEnum):
    """Why an attempt delivered nothing."""

    STATUS = "upstream_status"
    NOT_REACHED = "upstream_not_reached"
    TIMEOUT = "upstream_timeout"
    BROKEN = "upstream_response_incomplete"
    TOO_LARGE = "upstream_response_too_large"
    CREDENTIAL = "upstream_response_shows_credential"
    NO_EVENT = "upstream_stream_without_event"
    ABOVE_LIMIT = "response_above_limit_of_paid_call"  # a request over HTTP would get it
    CONGESTED = "gateway_congested"  # nothing was sent: no attempt
    LOST = "attempt_ended_elsewhere"


@dataclass(frozen=True, slots=True)
class NotDelivered:
    """An attempt that delivered nothing; `payment` is the row that says which attempts are left."""

    payment: GatewayPayment
    fault: DeliveryFault
    state: PaymentState  # after the attempt
    status: int | None = None  # of the upstream


class DeliveryAttempt:
    """The record of one attempt: its lease, and how it ends."""

    def __init__(
        self,
        database: Database,
        keeper: ResponseKeeper,
        clock: Clock,
        payment: GatewayPayment,
        *,
        may_repeat: bool,
    ) -> None:
        self._database, self._keeper, self._clock = database, keeper, clock
        self._payment, self._may_repeat = payment, may_repeat
        until = payment.attempt_until
        left = timedelta(0) if until is None else until - clock.now()
        self._ends_at = clock.monotonic() + left.total_seconds()

    @property
    def payment(self) -> GatewayPayment:
        """The payment as the attempt began."""
        return self._payment

    @property
    def left_s(self) -> float:
        """The seconds until the time of the attempt has passed."""
        return self._ends_at - self._clock.monotonic()

    async def find_held(self) -> KeptResponse | None:
        """Find the response of an earlier attempt, whose buyer had left.

        Raises:
            Outage: there is one and it cannot be opened: the upstream must not be called again.
        """
        if self._payment.attempts == 1:
            return None
        try:
            return await self._keeper.find_held(self._payment)
        except Outage:
            await self.give_back()
            raise

    async def record_sending(self) -> None:
        """Record that the request may be with the upstream from now on, where it is sent but once.

        Before this an attempt that dies leaves the payment to the next one.

        Raises:
            AttemptLost: it was ended, or its time has passed.
            Outage: it could not be recorded; the attempt was given back.
        """
        if self._may_repeat:
            return
        asked_at = self._clock.monotonic()
        try:
            left = await self._keep_trying(payment_store.record_sending)
        except Outage:
            await self.give_back()
            raise
        self._go_on(asked_at, left)

    async def confirm(self) -> None:
        """Confirm that the attempt goes on, as the database says.

        Raises:
            AttemptLost: it was ended, or its time has passed.
        """
        asked_at = self._clock.monotonic()
        async with self._database.connection() as db:
            left = await payment_store.read_lease(db, self._payment)
        self._go_on(asked_at, left)

    def _go_on(self, asked_at: float, left: timedelta | None) -> None:
        """Go on for the time that was left when the database was asked."""
        if left is None:
            raise AttemptLost
        self._ends_at = asked_at + left.total_seconds()
        self.check()

    def check(self) -> None:
        """Check that the time of the attempt has not passed.

        Raises:
            AttemptLost: it has.
        """
        if self.left_s <= 0:
            raise AttemptLost

    async def deliver(self, status: int, response: KeptResponse | None) -> None:
        """Record the delivery, with the response that is kept.

        Raises:
            AttemptLost: the attempt was ended.
            Outage: it could not be recorded, though it was tried several times.
        """
        kept = None if response is None else self._keeper.seal(self._payment, response)
        is_unsure = False  # an answer of the database was lost
        for left in reversed(range(_RECORD_TRIES)):
            try:
                is_ended = await self._end(PaymentState.DELIVERED, status=status, kept=kept)
                if is_ended or (is_unsure and await self._is_delivered()):
                    return
                raise AttemptLost
            except Outage:
                if not left:
                    raise
                is_unsure = True
                await self._clock.sleep(_RECORD_PAUSE_S)

    async def fail(
        self, fault: DeliveryFault, *, may_repeat: bool | None = None, status: int | None = None
    ) -> NotDelivered:
        """End the attempt without a delivery; `may_repeat` None as after an unknown outcome."""
        repeats = self._may_repeat if may_repeat is None else may_repeat
        payment, state = self._payment, state_after_failure(self._payment, may_repeat=repeats)
        log.info("gateway.not_delivered", tx_hash=payment.tx_hash, fault=fault, state=state)
        try:
            is_ended = await self._end(state, status=status, may_repeat=repeats)
        except Outage:  # the attempt's time ends it
            log.warning("gateway.end_not_recorded", tx_hash=payment.tx_hash)
            is_ended = True
        return NotDelivered(payment, fault, state, status) if is_ended else await self.find_lost()

    async def end_without_buyer(self, whole: KeptResponse | None) -> None:
        """End the attempt of a buyer who has left; a whole response waits for the next attempt."""
        kept = None if whole is None else self._keeper.seal(self._payment, whole)
        repeats = self._may_repeat or kept is not None
        state = state_after_failure(self._payment, may_repeat=repeats)
        log.info("gateway.buyer_left", tx_hash=self._payment.tx_hash, state=state)
        status = None if whole is None else whole.status
        try:
            await self._end(state, status=status, may_repeat=repeats, kept=kept)
        except Outage:
            log.warning("gateway.end_not_recorded", tx_hash=self._payment.tx_hash)

    async def give_back(self) -> NotDelivered:
        """End an attempt that sent nothing to the upstream: it does not count."""
        payment, fault = self._payment, DeliveryFault.CONGESTED
        try:
            is_returned = await self._keep_trying(payment_store.return_attempt)
        except Outage:  # the attempt's time ends it, and it counts
            log.warning("gateway.end_not_recorded", tx_hash=payment.tx_hash)
            return NotDelivered(payment, fault, state_after_failure(payment, may_repeat=True))
        if not is_returned:
            return await self.find_lost()
        log.info("gateway.attempt_returned", tx_hash=payment.tx_hash)
        fewer = replace(payment, attempts=payment.attempts - 1, attempt_until=None)
        return NotDelivered(fewer, fault, PaymentState.PAID)

    async def find_lost(self) -> NotDelivered:
        """Find what became of a payment whose attempt was ended elsewhere."""
        async with self._database.connection() as db:
            row = await payment_store.find_payment(db, self._payment.identity)
        known = row or self._payment
        log.warning("gateway.attempt_lost", tx_hash=known.tx_hash, state=known.state)
        is_open = known.state in (PaymentState.PAID, PaymentState.DELIVERED)
        state = PaymentState.PAID if is_open else PaymentState.OWED
        return NotDelivered(known, DeliveryFault.LOST, state)

    async def _is_delivered(self) -> bool:
        """Whether this attempt, and no later one, was recorded as delivered."""
        async with self._database.connection() as db:
            row = await payment_store.find_payment(db, self._payment.identity)
        return (
            row is not None
            and row.state is PaymentState.DELIVERED
            and fence_of(row) == fence_of(self._payment)
        )

    async def _keep_trying(
        self, statement: Callable[[Connection, GatewayPayment], Awaitable[T]]
    ) -> T:
        """Try a statement that may be repeated several times while the database is away."""
        tries = _RECORD_TRIES
        while True:
            try:
                async with self._database.connection() as db:
                    return await statement(db, self._payment)
            except Outage:
                tries -= 1
                if not tries:
                    raise
                await self._clock.sleep(_RECORD_PAUSE_S)

    async def _end(
        self,
        state: PaymentState,
        *,
        status: int | None,
        may_repeat: bool = False,
        kept: SealedResponse | None = None,
    ) -> bool:
        async with self._database.connection() as db:
            return await payment_store.end_attempt(
                db, self._payment, state, status=status, may_repeat=may_repeat, kept=kept
            )
