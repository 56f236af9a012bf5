"""What can become of a signed transaction, and what its absence proves."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import AccountState, TransactionFound, TransactionNotFound
from farebox.submission.not_taken import NotTakenCause

_FOR_NOW: Final = frozenset(cause.value for cause in NotTakenCause)


@dataclass(frozen=True, slots=True)
class SentEnvelope:
    """A signed transaction, with what is needed to learn its fate later."""

    tx_hash: bytes  # 32; of a fee bump the outer one
    inner_hash: bytes | None  # of the transaction inside a fee bump
    envelope: Secret[bytes]
    source: Address
    source_sequence: int
    max_time: datetime
    fee_limit: Stroops
    sent_after_ledger: int  # the last closed ledger known: it can only land in a later one

    def hashes(self) -> tuple[str, ...]:
        """Every hash it may be found by, in hex."""
        both = (self.tx_hash, self.inner_hash)
        return tuple(each.hex() for each in both if each is not None)


@dataclass(frozen=True, slots=True)
class NotSent:
    """It certainly never left: nothing of it can ever land."""


@dataclass(frozen=True, slots=True)
class Refused:
    """No node took it, and none can have it: another may be made in its place.

    `result_code` is the network's word for why (`txBAD_SEQ`), or ours where it gave none: the
    value of a `NotTakenCause`. `fee_wanted` is the whole fee it would have been taken for
    (`txINSUFFICIENT_FEE` only).
    """

    result_code: str
    fee_wanted: Stroops | None = None

    @property
    def is_for_now(self) -> bool:
        """Whether only the queue was in the way, which may be different in a moment."""
        return self.result_code in _FOR_NOW


@dataclass(frozen=True, slots=True)
class Dead:
    """It was sent and can never land any more, as of a ledger past its time bound."""

    as_of_ledger: int


@dataclass(frozen=True, slots=True)
class Unproven:
    """It can no longer be shown whether it landed, as of a ledger past its time bound."""

    as_of_ledger: int


@dataclass(frozen=True, slots=True)
class Indeterminate:
    """It may still land, or may have landed where nobody has looked yet."""


Seen = TransactionFound | Dead | Unproven | Indeterminate  # by looking for it
Fate = TransactionFound | NotSent | Refused | Dead | Unproven | Indeterminate


def judge_absence(
    sent: SentEnvelope, absence: TransactionNotFound, source: AccountState | None
) -> Dead | Unproven | Indeterminate:
    """What one answer that a node knows no transaction of this hash says.

    Only a ledger closed past the envelope's own time bound says anything. After that it is dead
    when the node's history reaches back to when it was sent, or when its sequence number was
    never used; `source` is a reading no older than the absence, or None when there is none. One
    answer is no proof: see `Absences`.
    """
    if absence.latest_close_at <= sent.max_time:
        return Indeterminate()
    if absence.oldest_ledger <= sent.sent_after_ledger + 1:
        return Dead(absence.latest_ledger)
    if source is None or source.as_of_ledger < absence.latest_ledger:
        return Indeterminate()
    if source.sequence < sent.source_sequence:
        return Dead(absence.latest_ledger)
    return Unproven(absence.latest_ledger)


def least_telling(one: TransactionNotFound, other: TransactionNotFound) -> TransactionNotFound:
    """What both absences prove together: no ledger that one of the two answers did not cover."""
    newest = min(one, other, key=lambda absence: absence.latest_close_at)
    oldest = max(one, other, key=lambda absence: absence.oldest_ledger)
    return TransactionNotFound(
        latest_ledger=newest.latest_ledger,
        latest_close_at=newest.latest_close_at,
        oldest_ledger=oldest.oldest_ledger,
        oldest_close_at=oldest.oldest_close_at,
    )
