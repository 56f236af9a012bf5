"""Nothing is settled for a buyer who has left before the call has a reservation."""

import pytest

from farebox.facilitator.settlement import Pending, Settled
from farebox.facilitator.settling.settle_request import SettleRequest
from farebox.facilitator.verification.verdict import Accepted
from farebox.gateway.delivery import payment_store, reservation_store
from farebox.gateway.delivery.outcome import AttemptStarted, PaymentPending
from farebox.gateway.delivery.pass_response import BuyerLeft
from farebox.gateway.delivery.pay import PaidRequest
from farebox.gateway.delivery.reservation_store import NewPayment
from farebox.gateway.payment import GatewayPayment, PaymentState
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.gateway_payments import (
    HASH,
    ScriptedSettler,
    WaitingBuyer,
    enabled_wrapper,
    land,
    new_payment,
    paid_request,
    payer_of,
    settled,
)


class JudgingSettler(ScriptedSettler):
    """Judges a payment while its buyer may leave."""

    def __init__(self, new: NewPayment, buyer: WaitingBuyer, *, leaves: bool) -> None:
        super().__init__(settled(new))
        self._buyer, self._leaves = buyer, leaves

    async def judge(self, request: SettleRequest) -> Accepted | None:
        """Judge the payment; the buyer leaves meanwhile."""
        await super().judge(request)
        self._buyer.has_left = self._leaves
        return None


class UnseenBuyer(WaitingBuyer):
    """The control: a buyer of whom nobody sees that it has left."""

    def __getattribute__(self, name: str) -> object:
        return False if name == "has_left" else super().__getattribute__(name)


@pytest.fixture
async def new(database: Database) -> NewPayment:
    return await land(database, new_payment(await enabled_wrapper(database)))


async def row_of(database: Database, new: NewPayment) -> GatewayPayment | None:
    async with database.connection() as db:
        return await payment_store.find_payment(db, new.identity)


async def counted(database: Database, new: NewPayment) -> tuple[int, int]:
    """The wrapper's requests of the month, and those in progress."""
    async with database.connection() as db:
        counters = await reservation_store.read_counters(db, new.wrapper)
    return counters.month_count, counters.in_progress


def has_room(request: PaidRequest) -> bool:
    """Whether the one slot is free."""
    return request.slot._slots.has_room_for(request.wrapper)


async def test_payment_of_a_buyer_who_has_left_is_not_judged(
    database: Database, new: NewPayment
) -> None:
    settler = ScriptedSettler(settled(new))
    request = paid_request(new, buyer=WaitingBuyer(has_left=True))
    with pytest.raises(BuyerLeft):
        await payer_of(database, settler).pay(request)
    assert (settler.judged, settler.settled, await row_of(database, new)) == ([], [], None)
    assert isinstance(await payer_of(database, settler).pay(paid_request(new)), AttemptStarted)
    assert len(settler.judged) == 1, "the control"


async def test_payment_whose_buyer_leaves_while_it_is_judged_is_not_reserved(
    database: Database, new: NewPayment
) -> None:
    buyer = WaitingBuyer()
    settler = JudgingSettler(new, buyer, leaves=True)
    request = paid_request(new, buyer=buyer)
    with pytest.raises(BuyerLeft):
        await payer_of(database, settler).pay(request)
    assert (len(settler.judged), settler.settled, await row_of(database, new)) == (1, [], None)
    assert (await counted(database, new), has_room(request)) == ((0, 0), True)
    unseen = JudgingSettler(new, buyer, leaves=True)
    request = paid_request(new, buyer=UnseenBuyer())
    assert isinstance(await payer_of(database, unseen).pay(request), AttemptStarted)
    assert len(unseen.settled) == 1, "the control"


async def test_payment_of_unknown_outcome_is_not_sent_on_for_a_buyer_who_has_left(
    database: Database, new: NewPayment
) -> None:
    pending = Pending(Network.TESTNET, new.identity.payer, HASH)
    settler = ScriptedSettler(pending, settled(new))
    assert await payer_of(database, settler).pay(paid_request(new)) == PaymentPending(pending)
    with pytest.raises(BuyerLeft):
        await payer_of(database, settler).pay(paid_request(new, buyer=WaitingBuyer(has_left=True)))
    row = await row_of(database, new)
    assert row is not None
    assert (row.state, row.attempt_until, len(settler.settled)) == (PaymentState.RESERVED, None, 1)
    assert isinstance(await payer_of(database, settler).pay(paid_request(new)), AttemptStarted)
    assert len(settler.settled) == 2, "the control"


async def test_buyer_who_leaves_during_the_settlement_has_its_payment_recorded(
    database: Database, new: NewPayment
) -> None:
    buyer = WaitingBuyer()

    class Leaving(ScriptedSettler):
        async def settle(self, request: object, *, accepted: object = None) -> Settled:
            buyer.has_left = True
            return settled(new)

    outcome = await payer_of(database, Leaving(settled(new))).pay(paid_request(new, buyer=buyer))
    assert isinstance(outcome, AttemptStarted)
    assert outcome.payment.state is PaymentState.PAID
