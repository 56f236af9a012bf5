"""A probe's state changes after three equal results, and says what is known of the owner."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.catalog.listing import Ownership, ProbeState
from farebox.catalog.origin.offers import Offer, Offers, OriginSilent, Silence
from farebox.catalog.origin.probe_state import (
    EQUAL_RESULTS,
    Standing,
    follow,
    ownership_by,
    result_of,
)
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from support.settled import ASSET, OTHER_SELLER, SELLER

C, S, U = ProbeState.CONFIRMED, ProbeState.OTHER_RECIPIENT, ProbeState.UNREACHABLE
NEW = ProbeState.UNKNOWN
states = st.sampled_from([each for each in ProbeState if each is not NEW])


def _after(results: Sequence[ProbeState]) -> Standing:
    standing = Standing()
    for each in results:
        standing = follow(standing, each)
    return standing


@pytest.mark.parametrize(
    ("results", "state"),
    [
        ([], NEW),
        ([C], NEW),
        ([C, C], NEW),
        ([C, C, C], C),
        ([C, C, U, C, C], NEW),
        ([C, C, C, U], C),
        ([C, C, C, U, U], C),
        ([C, C, C, U, U, C, U, U], C),
        ([C, C, C, U, U, U], U),
        ([C, C, C, U, S, U, S, U, S], C),
        ([C, C, C, S, S, S], S),
        ([C, C, C, S, S, S, C, C, C], C),
    ],
)
def test_a_state_follows_the_third_equal_result(
    results: list[ProbeState], state: ProbeState
) -> None:
    assert _after(results).state is state


@given(st.lists(states, max_size=30))
def test_a_state_is_always_the_newest_result_that_came_three_times_in_a_row(
    results: list[ProbeState],
) -> None:
    runs = [
        results[at]
        for at in range(EQUAL_RESULTS - 1, len(results))
        if len(set(results[at - EQUAL_RESULTS + 1 : at + 1])) == 1
    ]
    standing = _after(results)
    assert standing.state is (runs[-1] if runs else NEW)
    assert standing.is_settled == bool(runs and results[-1] is runs[-1])


def test_what_was_said_is_seen_from_the_listings_own_recipient_and_network() -> None:
    said = Offers((Offer(Network.TESTNET, ASSET, BaseUnits(1), SELLER),), b"{}")
    assert result_of(said, Network.TESTNET, SELLER) is C
    assert result_of(said, Network.TESTNET, OTHER_SELLER) is S
    assert result_of(said, Network.PUBNET, SELLER) is S


@pytest.mark.parametrize("why", list(Silence))
def test_every_silence_is_a_result_that_says_nothing_of_the_owner(why: Silence) -> None:
    seen = result_of(OriginSilent(why), Network.TESTNET, SELLER)
    assert seen not in (C, S, NEW)
    assert ownership_by(seen) is None


def test_ownership_follows_only_from_an_answer_that_names_somebody() -> None:
    assert ownership_by(C) is Ownership.VERIFIED
    assert ownership_by(S) is Ownership.UNVERIFIED
    assert ownership_by(NEW) is None
