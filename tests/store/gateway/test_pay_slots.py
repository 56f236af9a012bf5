"""A payment is not settled, and no attempt begins, while its owner has no slot for the request."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from farebox.facilitator.settlement import NothingSent, NotSettled, Pending, Settled
from farebox.gateway.delivery import payment_store
from farebox.gateway.delivery.outcome import (
    AttemptStarted,
    LimitReached,
    NotPaid,
    NotServed,
    PaymentPending,
    WrapperChanged,
)
from farebox.gateway.delivery.pay import PaidRequest
from farebox.gateway.delivery.reservation_store import NewPayment
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.gateway.relay.breaker import UpstreamBreaker
from farebox.gateway.relay.relay import UpstreamSlot, UpstreamSlots, UpstreamUnavailable
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from farebox.x402.reasons import Reason
from support.gateway_payments import (
    HASH,
    FindingPayer,
    ScriptedSettler,
    enabled_wrapper,
    land,
    new_payment,
    other_payment,
    paid_request,
    payer_of,
    settled,
)


class FreeSlot(UpstreamSlot):
    """The control: a slot that need not be had before the payment is settled."""

    def take_unpaid(self) -> None:
        return

    def take(self) -> bool:
        return True


class NotedSlot(UpstreamSlot):
    """A slot that notes when it is given back."""

    def __init__(self, slots: UpstreamSlots, new: NewPayment) -> None:
        super().__init__(slots, UpstreamBreaker(), SystemClock(), new.wrapper, new.identity)
        self.given_back = asyncio.Event()

    def release(self) -> None:
        """Give it back."""
        super().release()
        self.given_back.set()


@dataclass(slots=True)
class Sale:
    """A payment for one request, and the one slot that there is."""

    database: Database
    new: NewPayment
    slots: UpstreamSlots = field(default_factory=lambda: UpstreamSlots(1))

    def request(self, kind: type[UpstreamSlot] = UpstreamSlot) -> PaidRequest:
        """Another call with the payment."""
        slot = kind(
            self.slots, UpstreamBreaker(), SystemClock(), self.new.wrapper, self.new.identity
        )
        return replace(paid_request(self.new), slot=slot)

    @property
    def is_free(self) -> bool:
        """Whether nobody holds the slot."""
        return self.slots.has_room_for(self.new.wrapper)

    def pays(self, *outcomes: object) -> tuple[FindingPayer, ScriptedSettler]:
        """A payer whose settlements end like this."""
        settler = ScriptedSettler(*outcomes)  # type: ignore[arg-type]  # outcomes
        return payer_of(self.database, settler), settler

    async def row(self) -> GatewayPayment | None:
        """The payment's row."""
        async with self.database.connection() as db:
            return await payment_store.find_payment(db, self.new.identity)


@pytest.fixture
async def sale(database: Database) -> Sale:
    return Sale(database, await land(database, new_payment(await enabled_wrapper(database))))


async def test_payment_without_a_slot_is_not_settled(sale: Sale) -> None:
    payer, settler = sale.pays(settled(sale.new))
    other = other_payment(sale.slots, sale.new.wrapper)
    assert other.take()
    with pytest.raises(UpstreamUnavailable):
        await payer.pay(sale.request())
    assert (settler.settled, await sale.row()) == ([], None)
    await payer.pay(sale.request(FreeSlot))
    assert len(settler.settled) == 1, "the control"


async def test_slot_is_held_from_before_the_settlement_until_the_context_ends(sale: Sale) -> None:
    free_at_settlement = []

    class Looking(ScriptedSettler):
        async def settle(self, request: object, *, accepted: object = None) -> Settled:
            free_at_settlement.append(sale.is_free)
            return settled(sale.new)

    request = sale.request()
    with request.slot:
        assert sale.is_free
        outcome = await payer_of(sale.database, Looking(settled(sale.new))).pay(request)
        assert isinstance(outcome, AttemptStarted)
        assert (free_at_settlement, sale.is_free) == ([False], False)
    assert sale.is_free


async def test_slot_of_a_payment_that_did_not_land_is_free_again(sale: Sale) -> None:
    outcomes: tuple[NotSettled | Exception, ...] = (
        NotSettled(Reason.SIMULATION_FAILED, Network.TESTNET),
        NotSettled(Reason.TRANSACTION_FAILED, Network.TESTNET, None, HASH),
        NothingSent(Network.TESTNET, "", retry_after_s=5),  # type: ignore[arg-type]  # an address
        ValueError("a bug"),
    )
    for outcome in outcomes:
        payer, settler = sale.pays(outcome)
        request = sale.request()
        if isinstance(outcome, Exception):
            with pytest.raises(type(outcome)), request.slot:
                await payer.pay(request)
        else:
            with request.slot:
                assert await payer.pay(request) == NotPaid(outcome)
        assert (len(settler.settled), sale.is_free) == (1, True)


async def test_slot_of_a_call_that_is_cancelled_is_free_again(sale: Sale) -> None:
    settling, request = asyncio.Event(), sale.request()

    class Waiting(ScriptedSettler):
        async def settle(self, request: object, *, accepted: object = None) -> Settled:
            settling.set()
            await asyncio.Event().wait()
            return settled(sale.new)

    async def pay() -> None:
        with request.slot:
            await payer_of(sale.database, Waiting(settled(sale.new))).pay(request)

    paying = asyncio.create_task(pay())
    await settling.wait()
    assert not sale.is_free
    paying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await paying
    assert sale.is_free


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ("UPDATE wrappers SET is_enabled = false", WrapperChanged),
        ("UPDATE wrapper_counters SET in_progress = 50", LimitReached),
    ],
)
async def test_request_that_is_not_reserved_holds_no_slot(
    sale: Sale, change: str, refusal: type
) -> None:
    payer, settler = sale.pays(settled(sale.new))
    await payer.pay(paid_request(new_payment(sale.new.wrapper)))
    async with sale.database.connection() as db:
        await db.execute(change)
    assert isinstance(await payer.pay(sale.request()), refusal)
    assert (len(settler.settled), sale.is_free) == (1, True)


async def test_paid_request_without_a_slot_begins_no_attempt(sale: Sale) -> None:
    payer, _ = sale.pays(settled(sale.new))
    with (first := sale.request()).slot:
        started = await payer.pay(first)
    assert isinstance(started, AttemptStarted)
    async with sale.database.connection() as db:
        await payment_store.end_attempt(
            db, started.payment, PaymentState.PAID, status=503, may_repeat=True
        )
    other = other_payment(sale.slots, sale.new.wrapper)
    assert other.take()
    outcome = await payer.pay(sale.request())
    assert isinstance(outcome, NotServed)
    row = await sale.row()
    assert row is not None
    assert (row.state, row.attempts, row.attempt_until) == (PaymentState.PAID, 1, None)
    other.release()
    again = await payer.pay(sale.request())
    assert isinstance(again, AttemptStarted)
    assert again.payment.attempts == 2


async def test_payment_of_unknown_outcome_is_not_continued_without_a_slot(sale: Sale) -> None:
    pending = Pending(Network.TESTNET, sale.new.identity.payer, HASH)
    payer, settler = sale.pays(pending, settled(sale.new))
    with (first := sale.request()).slot:
        assert await payer.pay(first) == PaymentPending(pending)
    other = other_payment(sale.slots, sale.new.wrapper)
    assert other.take()
    assert isinstance(await payer.pay(sale.request()), PaymentPending)
    row = await sale.row()
    assert row is not None
    assert (row.state, row.attempt_until) == (PaymentState.RESERVED, None)
    assert len(settler.settled) == 1
    other.release()
    assert isinstance(await payer.pay(sale.request()), AttemptStarted)


async def test_call_that_waits_for_another_with_the_same_payment_holds_no_slot(sale: Sale) -> None:
    payer, _ = sale.pays(settled(sale.new))
    started = await payer.pay(sale.request())
    assert isinstance(started, AttemptStarted)
    free = UpstreamSlots(1)
    slot = NotedSlot(free, sale.new)
    waiting = asyncio.create_task(
        payer.payer.pay(replace(paid_request(sale.new), slot=slot), None)
    )  # it has not seen the reservation of the other
    await slot.given_back.wait()
    assert free.has_room_for(sale.new.wrapper)
    async with sale.database.connection() as db:
        await payment_store.end_attempt(
            db, started.payment, PaymentState.OWED, status=503, may_repeat=False
        )
    await waiting
    assert free.has_room_for(sale.new.wrapper)
