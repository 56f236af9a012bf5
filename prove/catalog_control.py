"""A build of the service that must fail: taking a success also writes to the catalog."""

from pathlib import Path
from typing import Final

from prove.broken_build import sources_with_changes

_JOURNAL: Final = "facilitator/journal/journal.py"
_APART: Final = """\
        async with self._database.connection() as db:
            return await store.take_successes(db, attempts, at=self._clock.now())
"""
_COUPLED: Final = """\
        async with self._database.transaction() as db:
            await db.execute("UPDATE listings SET updated_at = updated_at WHERE false")
            await db.execute("UPDATE listing_terms SET amount = amount WHERE false")
            await db.execute("UPDATE listing_payers SET settlements = settlements WHERE false")
            await db.execute("UPDATE listing_decisions SET outcome = outcome WHERE false")
            return await store.take_successes(db, attempts, at=self._clock.now())
"""


def coupled_sources(folder: Path) -> Path:
    """Write a copy of the sources in which a settlement's own transaction writes to the catalog.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    return sources_with_changes(folder, [(_JOURNAL, _APART, _COUPLED)])
