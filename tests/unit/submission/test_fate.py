from datetime import UTC, datetime, timedelta

import pytest

from farebox.kernel.addresses import account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import AccountState, TransactionNotFound
from farebox.submission.fate import Dead, Indeterminate, SentEnvelope, Unproven, judge_absence

MAX_TIME = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
SENT = SentEnvelope(
    tx_hash=bytes(32),
    inner_hash=None,
    envelope=Secret(b""),
    source=account_address(bytes(32)),
    source_sequence=7,
    max_time=MAX_TIME,
    fee_limit=Stroops(1),
    sent_after_ledger=100,
)


def absence(*, past_s: int, oldest: int = 50, latest: int = 120) -> TransactionNotFound:
    at = MAX_TIME + timedelta(seconds=past_s)
    return TransactionNotFound(latest, at, oldest, at - timedelta(hours=1))


def source(sequence: int, ledger: int = 120) -> AccountState:
    return AccountState(sequence, Stroops(1), ledger)


@pytest.mark.parametrize("past_s", [-60, -1, 0])
def test_absence_is_indeterminate_until_a_ledger_closed_past_the_bound(past_s: int) -> None:
    assert judge_absence(SENT, absence(past_s=past_s), source(3)) == Indeterminate()


def test_absence_is_dead_when_the_history_covers_the_window() -> None:
    assert judge_absence(SENT, absence(past_s=1, oldest=101), None) == Dead(120)


def test_absence_is_indeterminate_when_the_history_begins_later() -> None:
    assert judge_absence(SENT, absence(past_s=1, oldest=102), None) == Indeterminate()


def test_absence_is_dead_when_the_sequence_number_is_unused() -> None:
    assert judge_absence(SENT, absence(past_s=1, oldest=102), source(6)) == Dead(120)


def test_absence_is_unproven_when_the_number_is_used_without_history() -> None:
    assert judge_absence(SENT, absence(past_s=1, oldest=102), source(7)) == Unproven(120)


def test_absence_is_indeterminate_when_the_number_was_read_before() -> None:
    older = source(6, ledger=119)
    assert judge_absence(SENT, absence(past_s=1, oldest=102), older) == Indeterminate()
