"""The counters of upstream slots, whichever calls with whichever payments are made at once."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from farebox.gateway.relay.breaker import UpstreamBreaker
from farebox.gateway.relay.relay import UpstreamSlot, UpstreamSlots, UpstreamUnavailable
from farebox.gateway.wrapper import Wrapper
from farebox.gateway.wrappers.wrapper_fields import make_settings
from farebox.kernel.caller import OwnerId
from farebox.kernel.clock import SystemClock
from support.gateway_payments import (
    LastCallSlots,
    OnePaymentSlots,
    SlotCounters,
    counters_of,
    new_payment,
)
from support.wrappers import wrapper_fields

AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
MOST: Final = 5  # few, so that some calls find no slot
SETTINGS: Final = make_settings(wrapper_fields())
ONE: Final = Wrapper("wrp_1", OwnerId("one"), "one", SETTINGS, True, True, 1, AT, AT)
OTHER: Final = Wrapper("wrp_2", OwnerId("other"), "other", SETTINGS, True, False, 1, AT, AT)
WRAPPERS: Final = (
    ONE,
    replace(ONE, is_established=False),  # before its last change
    replace(ONE, id="wrp_3"),
    OTHER,
    replace(OTHER, is_established=True),
)
PAYMENTS: Final = tuple(new_payment(ONE).identity for _ in range(3))
# a call is one of a payment and a wrapper; each step takes its slot, before or after the payment is
# settled, or gives it back
calls = st.tuples(st.integers(0, 2), st.integers(0, len(WRAPPERS) - 1))
steps = st.lists(st.tuples(calls, st.sampled_from(["take_unpaid", "take", "release"])), max_size=40)
Steps = list[tuple[tuple[int, int], str]]


def stays_right(kind: type[UpstreamSlots], taken: Steps) -> bool:
    """Whether the counters agree after every step, and say at the end that nothing is held."""
    slots, breaker = kind(MOST), UpstreamBreaker()
    made: dict[tuple[int, int], UpstreamSlot] = {}
    for call, step in taken:
        payment, wrapper = PAYMENTS[call[0]], WRAPPERS[call[1]]
        if call not in made:
            made[call] = UpstreamSlot(slots, breaker, SystemClock(), wrapper, payment)
        try:
            getattr(made[call], step)()
        except UpstreamUnavailable:
            continue
        if not counters_of(slots).agree:
            return False
    for each in made.values():
        each.release()
    return counters_of(slots) == SlotCounters(MOST)


@given(steps)
def test_counters_agree_at_every_step_and_are_zero_at_the_end(taken: Steps) -> None:
    assert stays_right(UpstreamSlots, taken)


@pytest.mark.parametrize("kind", [OnePaymentSlots, LastCallSlots])
def test_broken_slots_are_found(kind: type[UpstreamSlots]) -> None:
    assert find(steps, lambda taken: not stays_right(kind, taken)), "the control"
