"""Ledgers of a session and of an attempt, from the observed cadence (3.8 and 3.11).

A session's end is a ledger where the protocol wants one, and a time where the contracts judge: the
ledger is never reached before the time.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from farebox.stellar.ledger_clock import LedgerReading

ATTEMPT_LEDGERS: Final = 12  # in which an attempt may land
AUTHORIZATION_LEDGERS: Final = 24  # in which its authorization may be used
ATTEMPT_LIFE: Final = timedelta(seconds=60)
INSTALL_LEDGERS: Final = 120  # in which the owner's signature of an installation may be used
LEAST_LEFT: Final = AUTHORIZATION_LEDGERS  # ledgers of a session, for a run to start
WARNING_BEFORE: Final = timedelta(days=7)
_FASTEST_SHARE: Final = 0.8  # of the observed cadence: the fastest that is plausible
_DEFAULT_SHARE: Final = 0.9  # of the longest promise: the cadence may change before the signature


class EndTooFar(Exception):
    """No entry on the ledger can live until the ledger that is needed."""


@dataclass(frozen=True, slots=True)
class AttemptBounds:
    """The bounds of an attempt, all included: it can land in none later.

    `authorized_until` is the last ledger of its authorization, longer than the attempt's own: its
    nonce is on the ledger meanwhile, and shows whether the authorization was used.
    """

    max_time: datetime
    max_ledger: int
    authorized_until: int


def ledgers_until(now: LedgerReading, moment: datetime) -> int:
    """The most ledgers that are expected to close until the moment."""
    seconds = max(0.0, (moment - now.close_at).total_seconds())
    return math.ceil(seconds / (now.cadence_s * _FASTEST_SHARE))


def session_end_ledger(now: LedgerReading, end: datetime, *, max_entry_ttl: int) -> int:
    """The last ledger of a session that is promised until `end`: a run may still start then.

    Raises:
        EndTooFar: it is past the life of the longest entry of the network (`maxEntryTTL`).
    """
    ledger = now.sequence + ledgers_until(now, end) + LEAST_LEFT
    if ledger > now.sequence + max_entry_ttl - 1:
        raise EndTooFar
    return ledger


def default_horizon(now: LedgerReading, *, max_entry_ttl: int) -> timedelta:
    """How long a plan lives by default, so that a session can still be promised when it is signed.

    It is 129 days where a ledger takes five seconds and an entry lives 3,110,400 ledgers.
    """
    return timedelta(seconds=max_entry_ttl * now.cadence_s * _FASTEST_SHARE * _DEFAULT_SHARE)


def estimated_end(now: LedgerReading, end_ledger: int) -> datetime:
    """When the ledger is expected to close at the cadence of now."""
    return now.close_at + timedelta(seconds=(end_ledger - now.sequence) * now.cadence_s)


def ends_early(now: LedgerReading, end_ledger: int, end: datetime) -> bool:
    """Whether the cadence has changed so that the session's ledger closes before its time."""
    return estimated_end(now, end_ledger) < end


def may_start(now: LedgerReading, end_ledger: int | None) -> bool:
    """Whether a run may start: enough ledgers of the session are left, or it has no end."""
    return end_ledger is None or end_ledger - now.sequence >= LEAST_LEFT


def outlives(now: LedgerReading, end_ledger: int, until: datetime) -> bool:
    """Whether a session lives past a run that may land until `until`, with its margin."""
    return now.sequence + ledgers_until(now, until) + LEAST_LEFT <= end_ledger


def still_lives(now: LedgerReading, end_ledger: int, until: datetime) -> bool:
    """Whether what was issued for longer still lives past a run, at the cadence of now.

    `outlives` leaves room for a faster cadence, which what was issued before may have used up.
    """
    return not ends_early(now, end_ledger - LEAST_LEFT, until)


def bound_attempt(
    now: LedgerReading, *, deadline: datetime, end_ledger: int | None
) -> AttemptBounds:
    """The bounds of an attempt that is made now: never past its run's deadline or its session."""
    last = now.sequence + AUTHORIZATION_LEDGERS
    if end_ledger is not None:
        last = min(last, end_ledger)
    return AttemptBounds(
        max_time=min(now.close_at + ATTEMPT_LIFE, deadline),
        max_ledger=min(now.sequence + ATTEMPT_LEDGERS, last),
        authorized_until=last,
    )
