"""Builds of the service that must fail the settlement proof.

One records an envelope only once a node accepted it; the other ends a payment whose dead envelope
another process may replace, and does not check whether it made the final transition.
"""

from pathlib import Path
from typing import Final

from prove.broken_build import sources_with_changes

_COMPOSITION: Final = "app/services.py"
_MADE: Final = "SettlementJournal("
_IMPORTED: Final = "from farebox.facilitator.journal.journal import SettlementJournal\n"
_WRITE_BEHIND: Final = '''
"""The journal with its write-ahead removed: for the control of a proof, never served."""

from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Recording


class WriteBehindJournal(SettlementJournal):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._kept = {}

    async def record_sending(self, claim, sent, *, epoch=0):
        self._kept[sent.tx_hash] = (claim, sent, epoch)
        return Recording.WRITTEN

    async def record_submitted(self, tx_hash):
        await self._write(tx_hash)
        return await super().record_submitted(tx_hash)

    async def record_final(self, tx_hash, final):
        await self._write(tx_hash)
        return await super().record_final(tx_hash, final)

    async def withdraw(self, identity, tx_hash, *, claim_id):
        await self._write(tx_hash)
        return await super().withdraw(identity, tx_hash, claim_id=claim_id)

    async def _write(self, tx_hash):
        kept = self._kept.pop(tx_hash, None)
        if kept is not None:
            claim, sent, epoch = kept
            await super().record_sending(claim, sent, epoch=epoch)
'''


_SENDER: Final = "facilitator/settling/send_payment.py"
_ENDED: Final = "if not await self._journal.record_final(sent.tx_hash, final):"
_IGNORED: Final = "if await self._journal.record_final(sent.tx_hash, final) is None:"
_LEFT: Final = "if known.may_be_replaced(fate, now=self._clock.now()):"
_NOT_LEFT: Final = "if known.may_be_replaced(fate, now=known.ends_by):"


def control_sources(folder: Path) -> Path:
    """Write a copy of the sources that records no envelope before it is sent.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    imported = "from farebox.facilitator.journal.write_behind import WriteBehindJournal\n"
    changes = [
        (_COMPOSITION, _IMPORTED, _IMPORTED + imported),
        (_COMPOSITION, _MADE, "WriteBehindJournal("),
    ]
    sources = sources_with_changes(folder, changes)
    (sources / "farebox/facilitator/journal/write_behind.py").write_text(_WRITE_BEHIND)
    return sources


def deaf_sources(folder: Path) -> Path:
    """Write a copy of the sources that answers an envelope's fate after its row has changed.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    changes = [(_SENDER, _ENDED, _IGNORED), (_SENDER, _LEFT, _NOT_LEFT)]
    return sources_with_changes(folder, changes)
