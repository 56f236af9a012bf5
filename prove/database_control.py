"""Builds of the service that must fail: each lacks one precaution against a failing database."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from prove.broken_build import Ends, sources_with_ends
from prove.database_case import Boundaries, Case, Outcome
from prove.database_faults import Fault, Kind
from prove.database_verdict import Violation
from prove.interceptor import Boundary
from testing.machine import RunFailed

CONTROL_WITHIN_S: Final = 6.0  # a payment without an answer by then is stuck
_CLAIM_STATEMENT: Final = "INSERT INTO settlements"
_TAKE_STATEMENT: Final = "WITH eligible"


class Control(StrEnum):
    """The defect of a build."""

    STUCK = "it does not release an interrupted claim"
    FORFEITED = "it takes a success again as a new attempt"
    ANSWERED = "it treats a success as answered when the answer of the database was lost"

    def shows_in(self, outcome: Outcome) -> bool:
        """Whether the outcome shows the defect."""
        if self is Control.STUCK:
            return outcome.is_stuck
        return any(violation is Violation.FORFEITED for violation, _ in outcome.findings)


_RETURNS: Final = """

class NoReturns(ClaimReleaser):
    async def release(self, interrupted):
        return None


ClaimReleaser = NoReturns
"""
_SUCCESSES: Final = """

_take_known = take_successes


async def take_successes(db, wanted, *, at):
    from uuid import uuid4

    anew = [(identity, digest, uuid4()) for identity, digest, _ in wanted]
    return await _take_known(db, anew, at=at)
"""
_ATTEMPTS: Final = """

class AnsweredAttempts(SuccessAttempts):
    def is_lost(self, identity, request_digest):
        return False


SuccessAttempts = AnsweredAttempts
"""
_ENDS: Final[Mapping[Control, Ends]] = {
    Control.STUCK: {"facilitator/journal/claim_release.py": ("class ClaimReleaser:", _RETURNS)},
    Control.FORFEITED: {"facilitator/journal/store.py": ("async def take_successes(", _SUCCESSES)},
    Control.ANSWERED: {"facilitator/journal/journal.py": ("class SuccessAttempts:", _ATTEMPTS)},
}


_CASES: Final = {  # the statement whose answer is lost, and the seconds of the fault
    Control.STUCK: (_CLAIM_STATEMENT, 1.5),
    Control.FORFEITED: (_TAKE_STATEMENT, 0.0),
    Control.ANSWERED: (_TAKE_STATEMENT, 1.5),
}


def broken_sources(folder: Path, control: Control) -> Path:
    """Write a copy of the sources with one defect.

    Raises:
        RunFailed: the sources lack the text that the control replaces.
    """
    return sources_with_ends(folder, _ENDS[control])


def control_case(boundaries: Boundaries, control: Control) -> Case:
    """Build the case that the control must fail.

    Raises:
        RunFailed: no settlement runs the statement of the control.
    """
    text, lasts_s = _CASES[control]
    return Case(0, 1, _find_statement(boundaries, text), Fault(Kind.LOST, lasts_s=lasts_s))


def _find_statement(boundaries: Boundaries, text: str) -> Boundary:
    for boundary in boundaries[False]:
        if boundary.label.startswith(f"sql {text}"):
            return boundary
    raise RunFailed(f"no settlement runs {text}")
