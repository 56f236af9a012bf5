"""The entries that a plan of mode `presigned` asks its owner for: one for each leg of each run.

The nonce of a leg is always the same, so that two signatures of one leg can be used once. The last
ledger is that of the run's window as of now, with time for the owner to sign.
"""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.automation.authority.ledger_bounds import INSTALL_LEDGERS, LEAST_LEFT, ledgers_until
from farebox.automation.authority.planned_calls import PlannedCalls
from farebox.automation.authority.run_entries import PresignedSlot, UnsignedRun, presigned_runs
from farebox.automation.plans.stored_plan import PlanTerms
from farebox.automation.schedules.missed_runs import RunSlot, next_slots
from farebox.kernel.addresses import Address
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerReading

_LABEL: Final = b"farebox presigned entry v1"
_LONGEST_SHARE: Final = 2  # of the ledgers that an entry needs now: the cadence may have changed


@dataclass(frozen=True, slots=True)
class IssuedEntry:
    """An entry to sign, and until when its run may land."""

    slot: PresignedSlot
    unsigned: UnsignedRun
    land_by: datetime


def entry_nonce(key: Secret[bytes], proposal_id: str, run_index: int, leg_index: int) -> int:
    """The nonce of a leg's entry: 64 bits of an HMAC, signed, as XDR has it."""
    label = b"|".join((_LABEL, proposal_id.encode(), b"%d|%d" % (run_index, leg_index)))
    digest = hmac.digest(key.reveal(), label, hashlib.sha256)
    return int.from_bytes(digest[:8], "big", signed=True)


def issue_entries(
    terms: PlanTerms,
    planned: PlannedCalls,
    account: Address,
    key: Secret[bytes],
    now: LedgerReading,
    *,
    at: datetime,
) -> tuple[IssuedEntry, ...]:
    """The entries of a plan that has not begun; fewer runs where its window ends before.

    `at` is the time of now: runs whose deadline has passed are not among the slots.
    """
    runs = next_slots(
        terms.schedule, terms.window, terms.rule, after=None, now=at, count=terms.run_limit
    )
    places = list(_places(runs, terms.legs))
    slots = [
        PresignedSlot(
            run_index,
            leg_index,
            entry_nonce(key, terms.id, run_index, leg_index),
            _expiry(now, slot),
        )
        for run_index, leg_index, slot in places
    ]
    unsigned = presigned_runs(terms.network, account, planned, slots)
    return tuple(
        IssuedEntry(slot, entry, place[2].deadline_at)
        for slot, entry, place in zip(slots, unsigned, places, strict=True)
    )


def latest_expiry(now: LedgerReading, issued: IssuedEntry) -> int:
    """The last ledger that an entry may name: one that was issued earlier has another cadence."""
    return now.sequence + _LONGEST_SHARE * (issued.slot.expires_at_ledger - now.sequence)


def _places(runs: Sequence[RunSlot], legs: int) -> Iterator[tuple[int, int, RunSlot]]:
    for run_index, slot in enumerate(runs):
        for leg_index in range(legs):
            yield run_index, leg_index, slot


def _expiry(now: LedgerReading, slot: RunSlot) -> int:
    ledgers = ledgers_until(now, slot.deadline_at) + LEAST_LEFT + INSTALL_LEDGERS
    return now.sequence + ledgers
