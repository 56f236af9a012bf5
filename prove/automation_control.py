"""Builds of the service that must fail the proof of automation."""

from pathlib import Path
from typing import Final

from prove.broken_build import sources_with_changes

_SENDER: Final = "automation/execution/send_run.py"
_PATIENT: Final = "until = self._clock.monotonic() + max(0.0, left_s) + _PROOF_S"
_HASTY: Final = "until = self._clock.monotonic() + 0.3"
_RESOLVER: Final = "automation/execution/resolve_run.py"
_OPEN: Final = """            case Indeterminate():
                return run
"""
_GUESSED: Final = """            case Indeterminate():
                ended = EndedAttempt(attempt, AttemptOutcome.DEAD, "too_late")
                run = run.without_channel()
                return await self._failures.fail(run, ErrorClass.TOO_LATE, "too_late", ended=ended)
"""


def hasty_sources(folder: Path) -> Path:
    """Write a copy of the sources that makes a new envelope although the old one can land.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    changes = [(_SENDER, _PATIENT, _HASTY), (_RESOLVER, _OPEN, _GUESSED)]
    return sources_with_changes(folder, changes)
