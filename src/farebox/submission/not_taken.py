"""Why a node answered TRY_AGAIN_LATER: it has five causes and names none of them.

The fifth is that stellar-core bans the hash of what a ledger took in. Then the sequence number is
used, which is what counts.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# A node drops what it could not place for four ledgers and then bans the hash for ten.
PATIENCE_LEDGERS: Final = 4


class NotTakenCause(StrEnum):
    """What keeps an envelope out of the node's queue; the value is our own result code."""

    BANNED = "banned"  # the node had this very envelope, dropped it and will not have it again
    NUMBER_USED = "number_used"  # the sequence number is on the ledger already
    SOURCE_PENDING = "source_pending"  # another transaction of the source waits for a ledger
    OTHER_SEQUENCE = "other_sequence"  # what waits there has an earlier number, or is to come yet
    QUEUE_FULL = "queue_full"  # nobody like it gets in at the moment


@dataclass(frozen=True, slots=True)
class Evidence:
    """What can be known of a refusal without asking the node why."""

    sequence: int  # the envelope's
    used: int | None  # the source's last number on the ledger; None while it cannot be read
    was_taken: bool  # a node said before that it queued this hash
    ledgers_out: int | None  # since it may have gone out with its answer lost; None: never
    source_has_another: bool  # we know of another envelope of the source on its way
    others_were_taken: bool  # other sources' envelopes got in meanwhile


def why_not_taken(evidence: Evidence) -> NotTakenCause:
    """The likeliest cause, the one that forbids most first.

    A hash that still waits is answered DUPLICATE, so an envelope that was taken, or went out
    more than four ledgers ago, and is turned away now, has been dropped.
    """
    if evidence.used is not None and evidence.used >= evidence.sequence:
        return NotTakenCause.NUMBER_USED
    if evidence.was_taken or (evidence.ledgers_out or 0) > PATIENCE_LEDGERS:
        return NotTakenCause.BANNED
    if evidence.used is not None and evidence.used < evidence.sequence - 1:
        return NotTakenCause.OTHER_SEQUENCE
    if evidence.source_has_another or evidence.others_were_taken:
        return NotTakenCause.SOURCE_PENDING
    return NotTakenCause.QUEUE_FULL
