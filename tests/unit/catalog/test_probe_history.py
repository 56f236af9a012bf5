"""The history of probes: a state changes after three equal results and decides the ownership."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.catalog.listing import Ownership, ProbeState
from farebox.catalog.origin.payment_required import (
    OriginFailure,
    OriginFault,
    OriginPaymentRequired,
    PaymentOption,
)
from farebox.catalog.origin.probe_history import (
    EQUAL_RESULTS,
    ProbeHistory,
    add_result,
    ownership_for,
    probe_result,
)
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from support.journal_rows import ASSET, OTHER_SELLER, SELLER

C, S, U = ProbeState.CONFIRMED, ProbeState.OTHER_RECIPIENT, ProbeState.UNREACHABLE
NEW = ProbeState.UNKNOWN
states = st.sampled_from([each for each in ProbeState if each is not NEW])


def _after(results: Sequence[ProbeState]) -> ProbeHistory:
    history = ProbeHistory()
    for each in results:
        history = add_result(history, each)
    return history


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
def test_probe_state_changes_at_the_third_equal_result(
    results: list[ProbeState], state: ProbeState
) -> None:
    assert _after(results).state is state


@given(st.lists(states, max_size=30))
def test_probe_state_is_the_newest_result_seen_three_times_in_a_row(
    results: list[ProbeState],
) -> None:
    runs = [
        results[at]
        for at in range(EQUAL_RESULTS - 1, len(results))
        if len(set(results[at - EQUAL_RESULTS + 1 : at + 1])) == 1
    ]
    history = _after(results)
    assert history.state is (runs[-1] if runs else NEW)
    assert history.is_stable == bool(runs and results[-1] is runs[-1])


def test_probe_result_depends_on_the_listings_recipient_and_network() -> None:
    response = OriginPaymentRequired(
        (PaymentOption(Network.TESTNET, ASSET, BaseUnits(1), SELLER),), b"{}"
    )
    assert probe_result(response, Network.TESTNET, SELLER) is C
    assert probe_result(response, Network.TESTNET, OTHER_SELLER) is S
    assert probe_result(response, Network.PUBNET, SELLER) is S


@pytest.mark.parametrize("why", [why for why in OriginFault if why is not OriginFault.NOT_ASKED])
def test_failed_probe_is_a_result_without_an_ownership(why: OriginFault) -> None:
    seen = probe_result(OriginFailure(why), Network.TESTNET, SELLER)
    assert seen is not None
    assert seen not in (C, S, NEW)
    assert ownership_for(seen) is None


def test_skipped_probe_has_no_result() -> None:
    assert probe_result(OriginFailure(OriginFault.NOT_ASKED), Network.TESTNET, SELLER) is None


def test_ownership_follows_only_from_a_named_recipient() -> None:
    assert ownership_for(C) is Ownership.VERIFIED
    assert ownership_for(S) is Ownership.UNVERIFIED
    assert ownership_for(NEW) is None
