"""Builds of the service that must fail the proof of automation.

The hasty one breaks the patience: it looks for an envelope for a third of a second, takes it for
dead and makes another, although the first one can still land. The fresh one breaks the derivation:
each attempt of a session's run signs a nonce of its own, so that the ledger takes the authorization
of a dead envelope and that of the next attempt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from farebox.automation.plans.session_spec import AuthorityMode
from prove.automation_case import UNDISTURBED, Fate, RunCase, Scenario
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
_AUTHORITY: Final = "automation/sessions/session_authority.py"
_DERIVED: Final = "from farebox.automation.runs.attempt import CounterReading, derive_nonce\n"
_FRESH: Final = """import secrets
from farebox.automation.runs.attempt import CounterReading


def derive_nonce(key, policy_id, *, run_index, leg_index):
    return secrets.randbits(63)


"""


def hasty_sources(folder: Path) -> Path:
    """Write a copy of the sources that makes a new envelope although the old one can land.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    changes = [(_SENDER, _PATIENT, _HASTY), (_RESOLVER, _OPEN, _GUESSED)]
    return sources_with_changes(folder, changes)


def fresh_sources(folder: Path) -> Path:
    """Write a copy of the sources that signs a new nonce for each attempt of a session's run.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    return sources_with_changes(folder, [(_AUTHORITY, _DERIVED, _FRESH)])


@dataclass(frozen=True, slots=True)
class Control:
    """A broken build, and the cases in which it must be caught."""

    name: str
    make: Callable[[Path], Path]
    cases: Sequence[RunCase]


def _cases(mode: AuthorityMode, *fates: Fate) -> list[RunCase]:
    return [
        replace(UNDISTURBED, seed=-1, number=number, scenario=Scenario(mode, fate))
        for number, fate in enumerate(fates, 1)
    ]


CONTROLS: Final = (
    Control("hasty", hasty_sources, _cases(AuthorityMode.OPEN, Fate.SLOW, Fate.CLOCK)),
    Control("fresh", fresh_sources, _cases(AuthorityMode.SESSION, Fate.KEPT, Fate.NEVER)),
)
