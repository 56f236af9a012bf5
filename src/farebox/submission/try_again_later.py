"""The cause of a TRY_AGAIN_LATER: a node has five causes and names none of them.

The fifth is that stellar-core bans the hash of a transaction that a ledger included. Then the
sequence number is used, which is the cause named here.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# A node drops what it could not place for four ledgers and then bans the hash for ten.
PATIENCE_LEDGERS: Final = 4


class TryAgainLaterCause(StrEnum):
    """The cause that keeps an envelope out of the node's queue; the value is our result code."""

    BANNED = "banned"  # the node had this envelope, dropped it and refuses it now
    NUMBER_USED = "number_used"  # the sequence number is on the ledger already
    SOURCE_PENDING = "source_pending"  # another transaction of the source waits for a ledger
    OTHER_SEQUENCE = "other_sequence"  # a transaction with an earlier number waits or is to come
    QUEUE_FULL = "queue_full"  # no transaction with its fee is admitted now


@dataclass(frozen=True, slots=True)
class RefusalEvidence:
    """The facts known about a TRY_AGAIN_LATER."""

    sequence: int  # the envelope's
    used: int | None  # the source's last number on the ledger; None while it cannot be read
    was_taken: bool  # a node queued this hash before
    ledgers_out: int | None  # since it may have been sent, its response lost; None: never
    source_has_another: bool  # another envelope of the source is queued
    others_were_taken: bool  # envelopes of other sources were queued meanwhile


def infer_cause(evidence: RefusalEvidence) -> TryAgainLaterCause:
    """Infer the likeliest cause, the one that forbids most first.

    The response for a queued hash is DUPLICATE, so an envelope that was queued, or sent more than
    four ledgers ago, and is refused now, has been dropped.
    """
    if evidence.used is not None and evidence.used >= evidence.sequence:
        return TryAgainLaterCause.NUMBER_USED
    if evidence.was_taken or (evidence.ledgers_out or 0) > PATIENCE_LEDGERS:
        return TryAgainLaterCause.BANNED
    if evidence.used is not None and evidence.used < evidence.sequence - 1:
        return TryAgainLaterCause.OTHER_SEQUENCE
    if evidence.source_has_another or evidence.others_were_taken:
        return TryAgainLaterCause.SOURCE_PENDING
    return TryAgainLaterCause.QUEUE_FULL
