"""The status of an attempt over every combination of observations, and the nonce of a run."""

import hashlib
import hmac
from datetime import timedelta
from itertools import product
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from farebox.automation.authority.ledger_bounds import AttemptBounds
from farebox.automation.plans.policy_id import PolicyId
from farebox.automation.runs.attempt import (
    AttemptDead,
    AttemptEvidence,
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


def status(
    absence: Dead | Unproven | Indeterminate,
    *,
    has_nonce: bool = True,
    nonce: NonceReading | None = None,
    counter: CounterReading | CounterGone | None = None,
) -> type:
    """What is judged of an attempt that may land up to ledger 112 and be used up to 124."""
    return type(judge_attempt(BOUNDS, AttemptEvidence(absence, has_nonce, nonce, counter)))


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
