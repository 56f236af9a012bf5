"""The status of an attempt (3.8): dead, used, open or unprovable; and the nonce of a run.

What an absence proves about the envelope is `submission/fate.py`; here the chain's own evidence is
added: the nonce of the authorization, and the counter of the guard or mandate.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final, assert_never

from farebox.automation.authority.ledger_bounds import AttemptBounds
from farebox.automation.plans.policy_id import PolicyId
from farebox.kernel.secret import Secret
from farebox.submission.fate import Dead, Indeterminate, Unproven

_NONCE_BYTES: Final = 8
_INDEX_BYTES: Final = 4


def derive_nonce(key: Secret[bytes], policy_id: PolicyId, *, run_index: int, leg_index: int) -> int:
    """The authorization nonce of every attempt of a leg: the same one, so that one can be used.

    It is a signed number of 64 bits: the first 8 bytes of an HMAC-SHA-256.
    """
    indexes = b"".join(each.to_bytes(_INDEX_BYTES, "big") for each in (run_index, leg_index))
    digest = hmac.digest(key.reveal(), policy_id + indexes, hashlib.sha256)
    return int.from_bytes(digest[:_NONCE_BYTES], "big", signed=True)


@dataclass(frozen=True, slots=True)
class NonceReading:
    """Whether the nonce's entry was on the ledger; it lives until the authorization's last one."""

    is_present: bool
    as_of_ledger: int


@dataclass(frozen=True, slots=True)
class CounterReading:
    """A contract's own count of uses before the attempt and now.

    Of a mandate it is how often the index of the run was used: 0 before.
    """

    before: int
    now: int
    as_of_ledger: int


@dataclass(frozen=True, slots=True)
class CounterGone:
    """The ledger has no such contract as of a ledger: its count can no longer be read."""

    as_of_ledger: int


@dataclass(frozen=True, slots=True)
class AttemptEvidence:
    """What is known of an attempt that was sent and did not land under its own hash.

    `absence` is the verdict of submission on the envelope. `has_nonce`: the attempt carries an
    authorization of an address; a mandate and an open call do not. `counter` is None where the
    contract has none.
    """

    absence: Dead | Unproven | Indeterminate
    has_nonce: bool
    nonce: NonceReading | None = None
    counter: CounterReading | CounterGone | None = None


@dataclass(frozen=True, slots=True)
class AttemptDead:
    """It did not happen and never will: another attempt may be made."""


@dataclass(frozen=True, slots=True)
class AttemptUsed:
    """Its authorization was used, by whichever transaction: the run happened."""


@dataclass(frozen=True, slots=True)
class AttemptOpen:
    """It may still land, or may have landed: look again."""


@dataclass(frozen=True, slots=True)
class AttemptUnprovable:
    """Nothing can be proven any more: the run is abandoned.

    Nodes remember too little, or the only contract that has counted the run is gone.
    """


AttemptFate = AttemptDead | AttemptUsed | AttemptOpen | AttemptUnprovable


def judge_attempt(bounds: AttemptBounds, evidence: AttemptEvidence) -> AttemptFate:
    """Judge an attempt by everything that was observed.

    It is dead only when the envelope is proven absent past both its bounds, and the chain shows
    that its authorization was not used: by the nonce while its entry would still be there, else by
    the counter. Where neither can be read any more, two histories are the proof. An authorization
    that was used proves that the run happened, whatever is known of the envelope. A mandate that is
    gone proves neither, and never will: another transaction may have used it.
    """
    if _was_used(evidence):
        return AttemptUsed()
    match evidence.absence:
        case Indeterminate():
            return AttemptOpen()
        case Unproven():
            return AttemptUnprovable()
        case Dead(as_of_ledger):
            if as_of_ledger <= bounds.max_ledger:
                return AttemptOpen()
            if _is_gone(bounds, evidence):
                return AttemptUnprovable()
            return AttemptDead() if _is_unused(bounds, evidence, as_of_ledger) else AttemptOpen()
        case _:
            assert_never(evidence.absence)


def _was_used(evidence: AttemptEvidence) -> bool:
    nonce, counter = evidence.nonce, evidence.counter
    is_on_ledger = evidence.has_nonce and nonce is not None and nonce.is_present
    is_counted = isinstance(counter, CounterReading) and counter.now != counter.before
    return is_on_ledger or is_counted


def _is_gone(bounds: AttemptBounds, evidence: AttemptEvidence) -> bool:
    """Whether what alone has counted the run is gone, after the attempt's last ledger."""
    counter = evidence.counter
    return isinstance(counter, CounterGone) and counter.as_of_ledger > bounds.max_ledger


def _is_unused(bounds: AttemptBounds, evidence: AttemptEvidence, latest: int) -> bool:
    """Whether the chain shows that the authorization was not used, as far as it can show it."""
    nonce, counter = evidence.nonce, evidence.counter
    if isinstance(counter, CounterReading) and counter.as_of_ledger > bounds.max_ledger:
        return True
    if not evidence.has_nonce:
        return counter is None
    if nonce is not None and bounds.max_ledger < nonce.as_of_ledger <= bounds.authorized_until:
        return True
    return counter is None and latest > bounds.authorized_until
