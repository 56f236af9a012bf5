"""The owners' cases of the proof of automation: what seeds play, and how money is judged."""

from itertools import combinations, product

import pytest

from prove.owner_case import HostileOwners, draw_owner_cases
from prove.owner_hostile import HostileAct
from prove.owner_plans import EVERY, LifeCase, PlanEnd, PlanStart
from prove.owner_verdict import OwnerAccounts, OwnerViolation, PaidFee, judge_accounts

RUN = PaidFee("a", "autolayer_run", is_success=True, stroops=100)
FAILED = PaidFee("b", "autolayer_run", is_success=False, stroops=70)
INSTALL = PaidFee("c", "install", is_success=True, stroops=900)
CLOSE = PaidFee("d", "close", is_success=True, stroops=40)


def test_eighteen_seeds_play_every_kind_mode_start_and_end() -> None:
    cases = [case for seed in range(1, 19) for case in draw_owner_cases(seed)]
    lives = [case for case in cases if isinstance(case, LifeCase)]
    played = [(pair, case.start, case.end) for case in lives for pair in case.pairs]
    assert sorted(played) == sorted(product(EVERY, PlanStart, PlanEnd))


def test_twenty_one_seeds_play_every_pair_of_hostile_acts() -> None:
    cases = [case for seed in range(1, 22) for case in draw_owner_cases(seed)]
    pairs = [case.acts for case in cases if isinstance(case, HostileOwners)]
    assert sorted(pairs) == sorted(combinations(HostileAct, 2))


def test_cases_of_a_seed_have_numbers_of_their_own() -> None:
    numbers = [case.number for case in draw_owner_cases(3)]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    ("fees", "paid", "left", "may_lose", "unpaid"),
    [
        ([RUN], 100, 0, 0, 0),
        ([RUN], 99, 0, 0, 1),
        ([RUN], 300, 250, 0, 50),  # what owners still have pays for nothing
        ([RUN], 50, 0, 1_000, 50),  # a success is no loss
        ([RUN, FAILED], 100, 0, 70, 0),
        ([RUN, FAILED], 100, 0, 60, 10),
        ([INSTALL, CLOSE], 900, 0, 40, 0),
        ([INSTALL, CLOSE], 0, 0, 40, 900),
    ],
)
def test_fees_are_paid_by_what_is_gone_or_are_losses_within_their_limit(
    fees: list[PaidFee], paid: int, left: int, may_lose: int, unpaid: int
) -> None:
    accounts = OwnerAccounts(fees, paid, left, may_lose)
    assert accounts.unpaid == unpaid
    found = [(each.violation, each.size) for each in judge_accounts(accounts)]
    assert found == ([(OwnerViolation.UNPAID, unpaid)] if unpaid else [])
