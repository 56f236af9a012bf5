"""The fate of a signed transaction, and the proof that its absence gives.

A fate is `TransactionFound`, or one of the other members of `Fate`.
"""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import AccountState, TransactionFound, TransactionNotFound
from farebox.submission.try_again_later import TryAgainLaterCause

_FOR_NOW: Final = frozenset(cause.value for cause in TryAgainLaterCause)


@dataclass(frozen=True, slots=True)
class SentEnvelope:
    """A signed transaction, with the facts by which its fate is found later."""

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
    """It was certainly not sent: it can never land."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Every node refused it and none can have it: another may be made in its place.

    `result_code` is the network's (`txBAD_SEQ`), or the value of a `TryAgainLaterCause` where it
    gave none. `required_fee` is the whole fee it would have been admitted for
    (`txINSUFFICIENT_FEE` only).
    """

    result_code: str
    required_fee: Stroops | None = None

    @property
    def is_for_now(self) -> bool:
        """Whether only the node's queue prevented it, which may change in a moment."""
        return self.result_code in _FOR_NOW


@dataclass(frozen=True, slots=True)
class Dead:
    """It was sent and can no longer land, as of a ledger past its time bound."""

    as_of_ledger: int


@dataclass(frozen=True, slots=True)
class Unproven:
    """It cannot be proved whether it landed, as of a ledger past its time bound."""

    as_of_ledger: int


@dataclass(frozen=True, slots=True)
class Indeterminate:
    """It may still land, or may have landed in a ledger that was not searched yet."""


ObservedFate = TransactionFound | Dead | Unproven | Indeterminate
Fate = TransactionFound | NotSent | Refused | Dead | Unproven | Indeterminate


def judge_absence(
    sent: SentEnvelope, absence: TransactionNotFound, source: AccountState | None
) -> Dead | Unproven | Indeterminate:
    """Judge one response by which a node knows no transaction of this hash.

    Before a ledger closed past the envelope's own time bound nothing follows. After that it is dead
    when the node's history reaches back to the time it was sent, or when its sequence number was
    never used. `source` is a reading no older than the absence, or None. One response is no proof:
    see `Absences`.
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


def intersect_absences(one: TransactionNotFound, other: TransactionNotFound) -> TransactionNotFound:
    """The absence that both responses prove: in the ledgers that each of them covers."""
    newest = min(one, other, key=lambda absence: absence.latest_close_at)
    oldest = max(one, other, key=lambda absence: absence.oldest_ledger)
    return TransactionNotFound(
        latest_ledger=newest.latest_ledger,
        latest_close_at=newest.latest_close_at,
        oldest_ledger=oldest.oldest_ledger,
        oldest_close_at=oldest.oldest_close_at,
    )


_KEPT: Final = 20_000  # envelopes; a forgotten one needs one look-up more


class Absences:
    """The first proofs that envelopes are absent, each with its ledger; a second one confirms it.

    stellar-rpc looks a transaction up before it reads its range of ledgers (since 25.1), so a
    response NOT_FOUND may name a ledger newer than the one the look-up saw. The next look-up starts
    after that response, and sees at least the ledger that the first one named.
    """

    def __init__(self) -> None:
        self._first: OrderedDict[bytes, int] = OrderedDict()

    def confirm(
        self, sent: SentEnvelope, fate: Dead | Unproven | Indeterminate
    ) -> Dead | Unproven | Indeterminate:
        """Return `fate` if an earlier look-up had it as of an earlier ledger."""
        if isinstance(fate, Indeterminate):
            return fate
        first = self._first.setdefault(sent.tx_hash, fate.as_of_ledger)
        if fate.as_of_ledger > first:
            return fate
        self._first[sent.tx_hash] = fate.as_of_ledger  # an older ledger proves no less
        while len(self._first) > _KEPT:
            self._first.popitem(last=False)
        return Indeterminate()

    def forget(self, sent: SentEnvelope) -> None:
        """Forget the absence of an envelope that was found."""
        self._first.pop(sent.tx_hash, None)
