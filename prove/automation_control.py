"""Builds of the service that must fail the proof of automation.

The hasty one breaks the patience: it looks for an envelope for a third of a second, takes it for
dead and makes another, although the first one can still land. The fresh one breaks the derivation:
each attempt of a session's run signs a nonce of its own, so that the ledger takes the authorization
of a dead envelope and that of the next attempt.
"""

from dataclasses import replace
from typing import Final

from farebox.automation.plans.session_spec import AuthorityMode
from prove.automation_case import UNDISTURBED, Fate, RunCase, Scenario
from prove.automation_run import RunOutcome
from prove.automation_verdict import RunViolation
from prove.broken_build import Build, Change
from prove.run_cases import Control, finds

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


def _cases(mode: AuthorityMode, *fates: Fate) -> list[RunCase]:
    return [
        replace(UNDISTURBED, seed=-1, number=number, scenario=Scenario(mode, fate))
        for number, fate in enumerate(fates, 1)
    ]


CONTROLS: Final[tuple[Control[RunCase, RunOutcome], ...]] = (
    Control(
        "hasty",
        _cases(AuthorityMode.OPEN, Fate.SLOW, Fate.CLOCK),
        Build(changes=(Change(_SENDER, _PATIENT, _HASTY), Change(_RESOLVER, _OPEN, _GUESSED))),
        finds(RunViolation.REUSED, RunViolation.DOUBLED),
    ),
    Control(
        "fresh",
        _cases(AuthorityMode.SESSION, Fate.KEPT, Fate.NEVER),
        Build(changes=(Change(_AUTHORITY, _DERIVED, _FRESH),)),
        finds(RunViolation.REUSED, RunViolation.DOUBLED),
    ),
)
