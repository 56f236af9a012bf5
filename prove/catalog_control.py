"""A build of the service that must fail: what a success is taken by touches the catalog too."""

import shutil
from pathlib import Path
from typing import Final

from e2e.machine import ROOT, RunFailed

_JOURNAL: Final = "farebox/facilitator/journal/journal.py"
_APART: Final = """\
        async with self._database.connection() as db:
            return await store.take_successes(db, wanted, at=self._clock.now())
"""
_TOGETHER: Final = """\
        async with self._database.transaction() as db:
            await db.execute("UPDATE listings SET updated_at = updated_at WHERE false")
            await db.execute("UPDATE listing_terms SET amount = amount WHERE false")
            await db.execute("UPDATE listing_payers SET settlements = settlements WHERE false")
            await db.execute("UPDATE listing_decisions SET outcome = outcome WHERE false")
            return await store.take_successes(db, wanted, at=self._clock.now())
"""


def together_sources(folder: Path) -> Path:
    """A copy of the sources in which a settlement's own transaction writes to the catalog.

    Raises:
        RunFailed: the sources are no longer as the control expects them.
    """
    sources = folder / "src"
    shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
    journal = sources / _JOURNAL
    text = journal.read_text()
    if text.count(_APART) != 1:
        raise RunFailed(f"the control does not fit {_JOURNAL} any more")
    journal.write_text(text.replace(_APART, _TOGETHER))
    return sources
