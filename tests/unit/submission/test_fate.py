from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from farebox.kernel.addresses import account_address
from farebox.kernel.amounts import Stroops
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import AccountState, LedgerStatus, TransactionFound, TransactionNotFound
from farebox.submission.fate import (
    Dead,
    Indeterminate,
    ObservedFate,
    SentEnvelope,
    Unproven,
    combine_fates,
    judge_absence,
)

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


def envelope(tag: int, *, sequence: int = 7) -> SentEnvelope:
    inner = bytes([tag + 100]) * 32
    return replace(SENT, tx_hash=bytes([tag]) * 32, inner_hash=inner, source_sequence=sequence)


def landing(tag: int, status: LedgerStatus = LedgerStatus.SUCCESS) -> TransactionFound:
    return TransactionFound(
        f"{tag:02x}" * 32, status, 110, MAX_TIME, "txSUCCESS", None, Stroops(1), ()
    )


FIRST, SECOND = envelope(1), envelope(2)
PAID, FAILED = landing(1), landing(1, LedgerStatus.FAILED)


@pytest.mark.parametrize(
    ("second", "first", "together"),
    [
        (Dead(120), PAID, PAID),
        (Indeterminate(), PAID, PAID),
        (landing(2, LedgerStatus.FAILED), PAID, PAID),
        (Indeterminate(), FAILED, FAILED),  # it has used the number of both
        (Dead(121), Dead(120), Dead(120)),
        (Dead(120), Indeterminate(), Indeterminate()),
        (Indeterminate(), Dead(120), Indeterminate()),
        (Dead(120), Unproven(121), Unproven(120)),
    ],
)
def test_envelopes_of_one_payment_have_one_fate(
    second: ObservedFate, first: ObservedFate, together: ObservedFate
) -> None:
    fates = {SECOND.tx_hash: second, FIRST.tx_hash: first}
    assert combine_fates(SECOND.in_place_of(FIRST), fates) == together


@pytest.mark.parametrize(
    ("other", "together"),
    [(Indeterminate(), Indeterminate()), (Dead(120), FAILED), (Unproven(120), Unproven(120))],
)
def test_failed_envelope_is_no_fate_while_one_of_another_number_may_land(
    other: ObservedFate, together: ObservedFate
) -> None:
    sent = envelope(2, sequence=8).in_place_of(FIRST)
    assert not sent.is_decided_by(FAILED)
    fates = {sent.tx_hash: other, FIRST.tx_hash: FAILED}
    assert combine_fates(sent, fates) == together


def test_envelope_is_found_by_every_hash_of_those_that_it_replaced() -> None:
    third = envelope(3).in_place_of(SECOND.in_place_of(FIRST, was_refused=True))
    assert len(set(third.hashes())) == 6
    assert [each.tx_hash[0] for each in third.every()] == [3, 1, 2]
    assert [each.was_refused for each in third.replaced] == [True, False]
    assert not third.is_only_one_out()
    assert third.landed_as(PAID).tx_hash == FIRST.tx_hash
    wrapped = replace(PAID, hash="ee" * 32, inner_hash=(bytes([102]) * 32).hex())
    assert third.landed_as(wrapped).tx_hash == SECOND.tx_hash, "inside a stranger's fee bump"
