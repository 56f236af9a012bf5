"""The fate of a signed transaction, and the proof that its absence gives.

A fate is `TransactionFound`, or one of the other members of `Fate`. Envelopes that one payment made
in each other's place have one fate together: that of the envelope that landed.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.secret import Secret
from farebox.stellar.rpc import AccountState, LedgerStatus, TransactionFound, TransactionNotFound
from farebox.submission.try_again_later import TryAgainLaterCause


@dataclass(frozen=True, slots=True)
class SentEnvelope:
    """A signed transaction, with the facts by which its fate is found later.

    `replaced` are the envelopes that it was made in place of, oldest first. They are looked for as
    well: one that a node did not queue may have been kept all the same.
    """

    tx_hash: bytes  # 32; of a fee bump the outer one
    inner_hash: bytes | None  # of the transaction inside a fee bump
    envelope: Secret[bytes]
    source: Address
    source_sequence: int
    max_time: datetime
    fee_limit: Stroops
    sent_after_ledger: int  # the last closed ledger known: it can only land in a later one
    replaced: tuple["SentEnvelope", ...] = ()
    was_refused: bool = False  # as invalid by each node, before it was replaced: none has it

    def in_place_of(self, earlier: "SentEnvelope", *, was_refused: bool = False) -> "SentEnvelope":
        """This envelope, made in place of `earlier` and of those that it replaced."""
        last = replace(earlier, replaced=(), was_refused=was_refused)
        return replace(self, replaced=(*earlier.replaced, last))

    def is_only_one_out(self) -> bool:
        """Whether no envelope that it replaced can be with a node."""
        return all(each.was_refused for each in self.replaced)

    def every(self) -> tuple["SentEnvelope", ...]:
        """This envelope, and those that it replaced."""
        return (self, *self.replaced)

    def made_after_ledger(self) -> int:
        """The last ledger in which neither it nor one that it replaced can have landed."""
        return min(each.sent_after_ledger for each in self.every())

    def own_hashes(self) -> tuple[str, ...]:
        """The hashes, in hex, by which this envelope alone may be found."""
        both = (self.tx_hash, self.inner_hash)
        return tuple(each.hex() for each in both if each is not None)

    def hashes(self) -> tuple[str, ...]:
        """Every hash, in hex, by which it or one that it replaced may be found."""
        return tuple(text for each in self.every() for text in each.own_hashes())

    def find_own(self, tx_hash: str) -> "SentEnvelope | None":
        """The envelope, of this and those that it replaced, with this outer or inner hash (hex)."""
        return next((each for each in self.every() if tx_hash in each.own_hashes()), None)

    def landed_as(self, found: TransactionFound) -> "SentEnvelope":
        """The envelope, of this and those that it replaced, that is in the transaction found."""
        return self.find_own(found.hash) or self.find_own(found.inner_hash or "") or self

    def is_decided_by(self, found: TransactionFound) -> bool:
        """Whether no other of its envelopes can make the payment besides the one found.

        One that failed has used its sequence number; an envelope with another number may still
        land.
        """
        landed = self.landed_as(found)
        return found.status is LedgerStatus.SUCCESS or all(
            (each.source, each.source_sequence) == (landed.source, landed.source_sequence)
            for each in self.every()
        )


@dataclass(frozen=True, slots=True)
class NotSent:
    """It was certainly not sent: it can never land."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Every node refused it as invalid and none can have it: another may be made in its place.

    `result_code` is the network's (`txBAD_SEQ`). `required_fee` is the whole fee it would have been
    admitted for (`txINSUFFICIENT_FEE` only). Envelopes that it replaced may land all the same.
    """

    result_code: str
    required_fee: Stroops | None = None


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
    """It may still land, or may have landed in a ledger that was not searched yet.

    `cause`: each node answered that it did not queue the envelope now. That is no proof, but one
    with the same sequence number may be made in its place: one of them at most can land.
    `required_fee` is the whole fee with which it would have been queued, where a node named it.
    """

    cause: TryAgainLaterCause | None = None
    required_fee: Stroops | None = None


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


def judge_absences(sent: SentEnvelope, absence: TransactionNotFound) -> Dead | Indeterminate:
    """Judge one response that covers the envelope and all that it replaced, as `judge_absence`."""
    fates = [judge_absence(each, absence, None) for each in sent.every()]
    is_dead = all(isinstance(fate, Dead) for fate in fates)
    return Dead(absence.latest_ledger) if is_dead else Indeterminate()


def combine_fates(sent: SentEnvelope, fates: Mapping[bytes, ObservedFate]) -> ObservedFate:
    """The fate of an envelope and those that it replaced together; `fates` is by their hashes.

    It is the landing that paid, or a failure besides which none can land. They are dead when each
    is, and unproven when nothing is left to be seen of any.
    """
    each_fate = [fates[each.tx_hash] for each in sent.every()]
    landings = [fate for fate in each_fate if isinstance(fate, TransactionFound)]
    landings.sort(key=lambda found: found.status is not LedgerStatus.SUCCESS)
    if landings and sent.is_decided_by(landings[0]):
        return landings[0]
    absences = [fate for fate in each_fate if not isinstance(fate, TransactionFound)]
    if any(isinstance(fate, Indeterminate) for fate in absences):
        return Indeterminate()
    final = [fate for fate in absences if isinstance(fate, Dead | Unproven)]
    is_unproven = any(isinstance(fate, Unproven) for fate in final)
    if landings and not is_unproven:
        return landings[0]
    ledger = min(fate.as_of_ledger for fate in final)
    return Unproven(ledger) if is_unproven else Dead(ledger)


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
