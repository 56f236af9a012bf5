"""The status of an attempt over every combination of observations, and the nonce of a run."""

import hashlib
import hmac
from datetime import timedelta
from itertools import product
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.authority.ledger_bounds import AttemptBounds
from farebox.automation.plans.policy_id import PolicyId
from farebox.automation.runs.attempt import (
    AttemptDead,
    AttemptEvidence,
    AttemptOpen,
    AttemptUnprovable,
    AttemptUsed,
    CounterGone,
    CounterReading,
    NonceReading,
    derive_nonce,
    judge_attempt,
)
from farebox.kernel.secret import Secret
from farebox.submission.fate import Dead, Indeterminate, Unproven
from support.plans import START

BOUNDS: Final = AttemptBounds(START + timedelta(seconds=60), 112, 124)
UNCHANGED: Final = CounterReading(3, 3, 113)


def status(
    absence: Dead | Unproven | Indeterminate,
    *,
    has_nonce: bool = True,
    nonce: NonceReading | None = None,
    counter: CounterReading | CounterGone | None = None,
) -> type:
    """What is judged of an attempt that may land up to ledger 112 and be used up to 124."""
    return type(judge_attempt(BOUNDS, AttemptEvidence(absence, has_nonce, nonce, counter)))


def test_attempt_is_dead_when_absent_and_its_nonce_was_not_used_in_time() -> None:
    assert status(Dead(113), nonce=NonceReading(False, 113)) is AttemptDead
    assert status(Dead(113), nonce=NonceReading(False, 124)) is AttemptDead


@pytest.mark.parametrize("ledger", [112, 125])
def test_absent_nonce_proves_nothing_before_the_last_ledger_or_after_its_own(ledger: int) -> None:
    assert status(Dead(113), nonce=NonceReading(False, ledger)) is AttemptOpen


def test_attempt_may_still_land_up_to_its_last_ledger() -> None:
    assert status(Dead(112), nonce=NonceReading(False, 113)) is AttemptOpen
    assert status(Indeterminate(), nonce=NonceReading(False, 113)) is AttemptOpen


@pytest.mark.parametrize("absence", [Dead(200), Unproven(200), Indeterminate()])
def test_nonce_on_the_ledger_proves_that_the_run_happened(
    absence: Dead | Unproven | Indeterminate,
) -> None:
    assert status(absence, nonce=NonceReading(True, 105)) is AttemptUsed
    assert status(absence, counter=CounterReading(3, 4, 105)) is AttemptUsed
    both = status(absence, nonce=NonceReading(False, 113), counter=CounterReading(3, 4, 113))
    assert both is AttemptUsed


def test_counter_stands_in_for_a_nonce_that_can_no_longer_be_read() -> None:
    assert status(Dead(300), counter=UNCHANGED) is AttemptDead
    late = NonceReading(False, 300)
    assert status(Dead(300), nonce=late, counter=UNCHANGED) is AttemptDead
    assert status(Dead(300), nonce=late, counter=CounterReading(3, 3, 112)) is AttemptOpen


def test_two_histories_are_the_proof_where_the_chain_shows_nothing() -> None:
    assert status(Dead(125)) is AttemptDead
    assert status(Dead(124)) is AttemptOpen  # the nonce may still be read
    assert status(Dead(113), has_nonce=False) is AttemptDead


def test_mandate_waits_for_its_counter() -> None:
    assert status(Dead(300), has_nonce=False, counter=CounterReading(3, 3, 112)) is AttemptOpen
    assert status(Dead(300), has_nonce=False, counter=UNCHANGED) is AttemptDead


def test_attempt_cannot_be_proven_once_its_mandate_is_gone() -> None:
    """Another transaction may have used it: only the mandate could have told."""
    for fate in (Dead(300), Unproven(300)):
        assert status(fate, has_nonce=False, counter=CounterGone(113)) is AttemptUnprovable
    assert status(Dead(300), has_nonce=False, counter=CounterGone(112)) is AttemptOpen
    assert status(Dead(112), has_nonce=False, counter=CounterGone(113)) is AttemptOpen
    assert status(Indeterminate(), has_nonce=False, counter=CounterGone(113)) is AttemptOpen


def test_attempt_that_no_history_covers_is_never_dead() -> None:
    assert status(Unproven(300), nonce=NonceReading(False, 113)) is AttemptUnprovable
    assert status(Unproven(300), counter=UNCHANGED) is AttemptUnprovable


LEDGERS: Final = (100, 112, 113, 124, 125, 300)


def test_every_combination_of_observations_is_as_in_the_rule_of_the_design() -> None:
    """Dead exactly when each line of 3.8 holds, written out anew."""
    absences = (Indeterminate(), *(kind(at) for kind in (Dead, Unproven) for at in LEDGERS))
    nonces = (None, *(NonceReading(used, at) for used in (False, True) for at in LEDGERS))
    counters = (
        None,
        *(CounterReading(1, now, at) for now in (1, 2) for at in LEDGERS),
        *(CounterGone(at) for at in LEDGERS),
    )
    for absence, has_nonce, nonce, counter in product(absences, (True, False), nonces, counters):
        used = (has_nonce and nonce is not None and nonce.is_present) or (
            isinstance(counter, CounterReading) and counter.now == 2
        )
        past = isinstance(absence, Dead) and absence.as_of_ledger > 112
        by_nonce = has_nonce and nonce is not None and 113 <= nonce.as_of_ledger <= 124
        is_gone = isinstance(counter, CounterGone) and counter.as_of_ledger > 112
        by_counter = isinstance(counter, CounterReading) and counter.as_of_ledger > 112
        nothing_to_see = counter is None and (
            not has_nonce or (isinstance(absence, Dead) and absence.as_of_ledger > 124)
        )
        is_dead = not used and past and not is_gone and (by_nonce or by_counter or nothing_to_see)
        found = status(absence, has_nonce=has_nonce, nonce=nonce, counter=counter)
        assert (found is AttemptDead) == is_dead
        assert (found is AttemptUsed) == used
        is_lost = isinstance(absence, Unproven) or (past and is_gone)
        assert (found is AttemptUnprovable) == (not used and is_lost)


KEY: Final = Secret(bytes(range(32)))


@given(
    policy=st.binary(min_size=32, max_size=32),
    run=st.integers(0, 2**32 - 1),
    leg=st.integers(0, 2**32 - 1),
)
def test_nonce_is_the_head_of_an_hmac_and_the_same_for_every_attempt(
    policy: bytes, run: int, leg: int
) -> None:
    found = derive_nonce(KEY, PolicyId(policy), run_index=run, leg_index=leg)
    message = policy + run.to_bytes(4, "big") + leg.to_bytes(4, "big")
    digest = hmac.new(KEY.reveal(), message, hashlib.sha256).digest()
    assert found == int.from_bytes(digest[:8], "big", signed=True)
    assert -(2**63) <= found < 2**63
    assert found == derive_nonce(KEY, PolicyId(policy), run_index=run, leg_index=leg)


def test_nonces_of_runs_legs_policies_and_keys_differ() -> None:
    one, two = PolicyId(bytes(32)), PolicyId(b"\1" * 32)
    keys = (KEY, Secret(bytes(32)))
    found = {
        derive_nonce(key, policy, run_index=run, leg_index=leg)
        for key, policy, run, leg in product(keys, (one, two), range(5), range(5))
    }
    assert len(found) == 100
