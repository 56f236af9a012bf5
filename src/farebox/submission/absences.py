"""An absence counts once a second look-up confirms it as of a later ledger.

stellar-rpc looks a transaction up before it reads which ledgers it has (since 25.1), so an answer
NOT_FOUND may name a ledger newer than the one the look-up saw. The next look-up starts after that
answer, and sees at least the ledger that the first one named.
"""

from collections import OrderedDict
from typing import Final

from farebox.submission.fate import Dead, Indeterminate, SentEnvelope, Unproven

_KEPT: Final = 20_000  # envelopes; a forgotten one needs one look-up more


class Absences:
    """The envelopes that one look-up found absent for good, with the ledger it spoke for."""

    def __init__(self) -> None:
        self._first: OrderedDict[bytes, int] = OrderedDict()

    def confirm(
        self, sent: SentEnvelope, fate: Dead | Unproven | Indeterminate
    ) -> Dead | Unproven | Indeterminate:
        """`fate` where an earlier look-up said the same as of an earlier ledger."""
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
        """The envelope was found: its absence would have to be proved anew."""
        self._first.pop(sent.tx_hash, None)
