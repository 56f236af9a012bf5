"""A build of the service that must fail: it writes an envelope down only once a node took it."""

import shutil
from pathlib import Path
from typing import Final

from e2e.machine import ROOT, RunFailed

_COMPOSITION: Final = "farebox/app/services.py"
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

    async def sending(self, claim, sent, *, epoch=0):
        self._kept[sent.tx_hash] = (claim, sent, epoch)
        return Recording.WRITTEN

    async def submitted(self, tx_hash):
        await self._write(tx_hash)
        return await super().submitted(tx_hash)

    async def end(self, tx_hash, ending):
        await self._write(tx_hash)
        return await super().end(tx_hash, ending)

    async def withdraw(self, identity, tx_hash, *, claim_id):
        await self._write(tx_hash)
        return await super().withdraw(identity, tx_hash, claim_id=claim_id)

    async def _write(self, tx_hash):
        kept = self._kept.pop(tx_hash, None)
        if kept is not None:
            claim, sent, epoch = kept
            await super().sending(claim, sent, epoch=epoch)
'''


def control_sources(folder: Path) -> Path:
    """A copy of the sources in which no envelope is written down before it is sent.

    Raises:
        RunFailed: the sources are no longer as the control expects them.
    """
    sources = folder / "src"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", sources, ignore=ignored)
    (sources / "farebox/facilitator/journal/write_behind.py").write_text(_WRITE_BEHIND)
    composition = sources / _COMPOSITION
    text = composition.read_text()
    if text.count(_IMPORTED) != 1 or text.count(_MADE) < 1:
        raise RunFailed(f"the control does not fit {_COMPOSITION} any more")
    imported = "from farebox.facilitator.journal.write_behind import WriteBehindJournal\n"
    text = text.replace(_IMPORTED, _IMPORTED + imported).replace(_MADE, "WriteBehindJournal(")
    composition.write_text(text)
    return sources
