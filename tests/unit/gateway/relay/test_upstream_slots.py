"""The slots of paid requests: what an owner may hold beside others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import pytest

from farebox.gateway.relay.breaker import FAILURES, OPEN_S, UpstreamBreaker
from farebox.gateway.relay.received_body import BodySpool
from farebox.gateway.relay.relay import (
    Relay,
    UpstreamRequest,
    UpstreamSlot,
    UpstreamSlots,
    UpstreamUnavailable,
)
from farebox.gateway.wrapper import Wrapper
from farebox.gateway.wrappers.wrapper_fields import make_settings
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import SystemClock
from farebox.kernel.slots import Share
from farebox.outbound.client import OutboundClient
from farebox.outbound.faults import CallNotSent, NotSentReason
from farebox.outbound.resolve import PinnedAddress
from farebox.outbound.target import Target
from support.gateway_payments import (
    LastCallSlots,
    OnePaymentSlots,
    SlotCounters,
    counters_of,
    new_payment,
    other_payment,
)
from support.wrappers import wrapper_fields

AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
MANY: Final = 10_000
SETTINGS: Final = make_settings(wrapper_fields())


def wrapper_of(owner: str, *, is_established: bool = True) -> Wrapper:
    return Wrapper(f"wrp_{owner}", OwnerId(owner), owner, SETTINGS, True, is_established, 1, AT, AT)


def fill(slots: UpstreamSlots, wrapper: Wrapper) -> int:
    """Take what the owner may hold; return how many slots that are."""
    return next(count for count in range(MANY) if not other_payment(slots, wrapper).take())


class UnboundedSlots(UpstreamSlots):
    """The control: an owner takes what is free."""

    def has_room_for(self, wrapper: Wrapper) -> bool:
        return self._room.free > 0


@pytest.mark.parametrize(("most", "alone"), [(1, 1), (2, 1), (3, 2), (64, 32), (512, 256)])
def test_owner_who_is_alone_holds_half(most: int, alone: int) -> None:
    assert fill(UpstreamSlots(most), wrapper_of("one")) == alone


@pytest.mark.parametrize(("hostile", "left"), [(1, 128), (2, 64), (3, 32), (8, 1)])
def test_owners_who_take_all_that_they_may_leave_slots_to_the_next(hostile: int, left: int) -> None:
    slots = UpstreamSlots(512)
    for number in range(hostile):
        assert fill(slots, wrapper_of(f"hostile {number}"))
    assert fill(slots, wrapper_of("honest")) == left


def test_wrappers_of_one_owner_share_what_the_owner_may_hold() -> None:
    slots = UpstreamSlots(64)
    assert fill(slots, wrapper_of("one")) == 32
    other = Wrapper("wrp_other", OwnerId("one"), "other", SETTINGS, True, True, 1, AT, AT)
    assert not slots.has_room_for(other)


def test_all_new_owners_hold_together_what_one_owner_may() -> None:
    slots = UpstreamSlots(512)
    held = [fill(slots, wrapper_of(f"new {n}", is_established=False)) for n in range(400)]
    assert (held[0], held[1] > 0, sum(held) <= 256) == (171, True, True)
    assert fill(slots, wrapper_of("honest")) >= 128
    unbounded = UnboundedSlots(512)
    for number in range(400):
        fill(unbounded, wrapper_of(f"new {number}", is_established=False))
    assert fill(unbounded, wrapper_of("honest")) == 0, "the control"


def test_slots_that_are_given_back_are_free_again() -> None:
    slots, one = UpstreamSlots(2), wrapper_of("one", is_established=False)
    for _ in range(10):
        first = other_payment(slots, one)
        assert first.take()
        assert not other_payment(slots, one).take()
        first.release()
    assert fill(slots, wrapper_of("other")) == 1


def test_calls_with_one_payment_share_its_slot_until_the_last_of_them_ends() -> None:
    slots, breaker, one = UpstreamSlots(2), UpstreamBreaker(), wrapper_of("one")
    for _ in range(FAILURES):
        breaker.record_failure(one.id, new_payment(one).identity, -OPEN_S)
    payment = new_payment(one).identity
    first, second = (UpstreamSlot(slots, breaker, SystemClock(), one, payment) for _ in range(2))
    first.take_unpaid()
    second.take_unpaid()
    assert fill(slots, one) == 0
    first.release()
    assert (slots.has_room_for(one), breaker.wait_s(one.id, SystemClock().monotonic()) > 0) == (
        False, True,
    )  # fmt: skip
    second.release()
    assert (slots.has_room_for(one), breaker.wait_s(one.id, SystemClock().monotonic())) == (
        True, 0,
    )  # fmt: skip


def test_slot_is_given_back_as_it_was_taken_though_its_owner_was_established_meanwhile() -> None:
    slots, new = UpstreamSlots(8), wrapper_of("one", is_established=False)
    payment = new_payment(new).identity
    assert slots.take(new, payment)
    assert slots.take(wrapper_of("one"), payment)
    for _ in range(2):
        slots.release(wrapper_of("one"), payment)
    assert fill(slots, new) == fill(UpstreamSlots(8), new)


class RecordingResolver:
    """Records whose share each lookup takes, and finds nothing."""

    def __init__(self) -> None:
        self.owners: list[Share | None] = []

    async def pin(self, target: Target, owner: Share | None = None) -> PinnedAddress:
        """Raise, as for a name that hangs."""
        self.owners.append(owner)
        raise CallNotSent(NotSentReason.DEADLINE)


async def test_lookups_of_a_wrapper_take_its_share() -> None:
    resolver, clock = RecordingResolver(), SystemClock()
    async with OutboundClient(resolver) as client:
        relay = Relay(client, UpstreamSlots(8), UpstreamBreaker(), clock)
        new = replace(wrapper_of("new", is_established=False), site="192.0.2.1")
        for wrapper in (new, wrapper_of("known")):
            with pytest.raises(UpstreamUnavailable):
                await relay.check(wrapper, "https://seller.example.com/")
            with BodySpool().open("") as body, pytest.raises(CallNotSent):
                url, share = "https://seller.example.com/", wrapper.share
                request = UpstreamRequest(url, "GET", body, 1, 1024, owner=share)
                async with relay.call(request):
                    pass
    new_share, known_share = Share("192.0.2.1", is_new=True), Share("known")
    assert resolver.owners == [new_share, new_share, known_share, known_share]


def slot_of(
    slots: UpstreamSlots, wrapper: Wrapper, breaker: UpstreamBreaker | None = None
) -> UpstreamSlot:
    payment = new_payment(wrapper).identity
    return UpstreamSlot(slots, breaker or UpstreamBreaker(), SystemClock(), wrapper, payment)


def test_slot_is_taken_once_and_given_back_at_the_end_of_its_context() -> None:
    slots, one = UpstreamSlots(1), wrapper_of("one")
    with pytest.raises(ValueError, match="broken"), slot_of(slots, one) as slot:
        slot.take_unpaid()
        slot.take_unpaid()
        assert (slot.take(), slot_of(slots, one).take()) == (True, False)
        raise ValueError("broken")
    slot.release()
    assert fill(slots, one) == 1


def test_slot_that_was_not_taken_gives_nothing_back() -> None:
    slots, one = UpstreamSlots(1), wrapper_of("one")
    assert other_payment(slots, one).take()
    with slot_of(slots, one) as slot, pytest.raises(UpstreamUnavailable) as refused:
        slot.take_unpaid()
    assert (refused.value.retry_after_s, fill(slots, one)) == (1, 0)


def test_open_breaker_refuses_new_payments_alone_and_takes_no_slot() -> None:
    slots, breaker, one = UpstreamSlots(1), UpstreamBreaker(), wrapper_of("one")
    for _ in range(FAILURES):
        now = SystemClock().monotonic()
        breaker.record_failure(one.id, new_payment(one).identity, now)
    with slot_of(slots, one, breaker) as slot:
        with pytest.raises(UpstreamUnavailable) as refused:
            slot.take_unpaid()
        assert (refused.value.retry_after_s, slots.has_room_for(one)) == (OPEN_S, True)
        assert slot.take()


def test_payment_without_room_takes_no_trial_and_one_that_ends_gives_it_back() -> None:
    slots, breaker, one = UpstreamSlots(1), UpstreamBreaker(), wrapper_of("one")
    for _ in range(FAILURES):
        breaker.record_failure(one.id, new_payment(one).identity, -OPEN_S)
    other = other_payment(slots, one)
    assert other.take()
    with slot_of(slots, one, breaker) as full, pytest.raises(UpstreamUnavailable):
        full.take_unpaid()
    other.release()
    for _ in range(2):
        with slot_of(slots, one, breaker) as trial:
            trial.take_unpaid()
            assert breaker.wait_s(one.id, SystemClock().monotonic()) > 0


def orders_of(calls: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every order of the steps of the calls; a number stands for the next step of its call."""
    if not any(calls):
        yield ()
    for call, left in enumerate(calls):
        if left:
            fewer = [*calls[:call], left - 1, *calls[call + 1 :]]
            yield from ((call, *rest) for rest in orders_of(fewer))


def play(slots: UpstreamSlots, wrappers: Sequence[Wrapper], order: Sequence[int]) -> bool:
    """Take and give back one payment's slot at the wrappers; whether the counters always agree."""
    payment, breaker = new_payment(wrappers[0]).identity, UpstreamBreaker()
    calls = [UpstreamSlot(slots, breaker, SystemClock(), each, payment) for each in wrappers]
    has_taken: set[int] = set()
    for call in order:
        if call in has_taken:
            calls[call].release()
        else:
            calls[call].take_unpaid()
            has_taken.add(call)
        if not counters_of(slots).agree:
            return False
    return True


VICTIM: Final = wrapper_of("victim")
NEW_VICTIM: Final = replace(VICTIM, is_established=False)  # before a change of the wrapper
ATTACKER: Final = wrapper_of("attacker")
NEW_ATTACKER: Final = replace(ATTACKER, is_established=False)


@pytest.mark.parametrize(
    ("wrappers", "broken"),
    [
        ((VICTIM, VICTIM, ATTACKER), OnePaymentSlots),
        ((NEW_VICTIM, VICTIM, ATTACKER, NEW_ATTACKER), OnePaymentSlots),
        ((NEW_ATTACKER, NEW_ATTACKER, VICTIM), OnePaymentSlots),
        ((NEW_VICTIM, VICTIM, VICTIM), LastCallSlots),
    ],
    ids=["two owners", "two changed wrappers", "a new owner", "a changed wrapper"],
)
def test_every_slot_goes_back_where_it_was_taken_whatever_the_order_of_the_calls(
    wrappers: Sequence[Wrapper], broken: type[UpstreamSlots]
) -> None:
    orders = list(orders_of([2] * len(wrappers)))
    for order in orders:
        slots = UpstreamSlots(64)
        assert play(slots, wrappers, order), order
        assert counters_of(slots) == SlotCounters(64), order
    assert any(
        not play(slots, wrappers, order) or counters_of(slots) != SlotCounters(64)
        for order, slots in ((each, broken(64)) for each in orders)
    ), "the control"


def test_payment_that_is_presented_at_two_wrappers_has_a_slot_of_each_owner() -> None:
    slots, payment = UpstreamSlots(64), new_payment(VICTIM).identity
    for wrapper in (VICTIM, NEW_ATTACKER):
        assert slots.take(wrapper, payment)
    assert counters_of(slots) == SlotCounters(62, 1, {"victim": 1, "attacker": 1}, 2)


def test_slot_that_nobody_holds_is_not_given_back() -> None:
    slots, payment = UpstreamSlots(64), new_payment(VICTIM).identity
    assert slots.take(VICTIM, payment)
    with pytest.raises(KeyError):
        slots.release(ATTACKER, payment)
    assert counters_of(slots) == SlotCounters(63, 0, {"victim": 1}, 1)


@pytest.mark.parametrize(
    ("kind", "is_refused"), [(UpstreamSlots, True), (OnePaymentSlots, False)], ids=["", "control"]
)
def test_payment_with_a_slot_elsewhere_passes_no_open_breaker(
    kind: type[UpstreamSlots], is_refused: bool
) -> None:
    slots, breaker, payment = kind(64), UpstreamBreaker(), new_payment(VICTIM).identity
    for _ in range(FAILURES):
        breaker.record_failure(VICTIM.id, new_payment(VICTIM).identity, SystemClock().monotonic())
    elsewhere, here = (
        UpstreamSlot(slots, breaker, SystemClock(), each, payment) for each in (ATTACKER, VICTIM)
    )
    elsewhere.take_unpaid()
    refused = False
    try:
        here.take_unpaid()
    except UpstreamUnavailable:
        refused = True
    assert refused is is_refused


@pytest.mark.parametrize(
    ("kind", "is_given_back"),
    [(UpstreamSlots, True), (OnePaymentSlots, False)],
    ids=["", "control"],
)
def test_trial_ends_with_the_calls_to_its_wrapper_while_another_has_the_payment(
    kind: type[UpstreamSlots], is_given_back: bool
) -> None:
    slots, breaker, payment = kind(64), UpstreamBreaker(), new_payment(VICTIM).identity
    for _ in range(FAILURES):
        breaker.record_failure(VICTIM.id, new_payment(VICTIM).identity, -OPEN_S)
    trial, elsewhere = (
        UpstreamSlot(slots, breaker, SystemClock(), each, payment) for each in (VICTIM, ATTACKER)
    )
    trial.take_unpaid()
    elsewhere.take_unpaid()
    trial.release()
    assert (breaker.wait_s(VICTIM.id, SystemClock().monotonic()) == 0) is is_given_back
