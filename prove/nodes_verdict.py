"""Judge a valid payment by the ledger, the journal and every answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.x402.reasons import Reason
from prove.nodes_caller import NodesCaller, forbids_another_try
from prove.truth import Answer, Fault, Included, Row, judge

_ENDED: Final = Reason.SUBMISSION_FAILED  # "it cannot land any more"
_DEAD: Final = "dead"


class Violation(StrEnum):
    """A wrong treatment of a valid payment."""

    REFUSED = "false_refusals"
    FAILED = "false_failures"
    DOUBLED = "doubled"
    LOST = "lost"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation, and the sentence that shows it."""

    violation: Violation
    why: str


_VIOLATIONS: Final = {
    Fault.DOUBLED: Violation.DOUBLED,
    Fault.LOST: Violation.LOST,
    Fault.UNRESOLVED: Violation.UNRESOLVED,
}


def judge_payment(
    own: Sequence[Included], row: Row | None, caller: NodesCaller, *, is_settled_down: bool
) -> list[Finding]:
    """Every violation of one payment; `own` is what of it is on the ledger."""
    landed = next((each.tx_hash for each in own if each.is_success), None)
    answers = caller.answers
    findings = [Finding(Violation.REFUSED, f"/verify answered {each}") for each in caller.refusals]
    is_dead = row is not None and row.state == _DEAD  # its time bound passed, and it never landed
    findings += [
        each for answer in answers for each in _judge_answer(answer, landed, is_dead=is_dead)
    ]
    found = judge(own, row, answers, is_settled_down=is_settled_down)
    findings += [Finding(_VIOLATIONS[each.fault], each.why) for each in found]
    if landed and not caller.is_settled and all(each.status for each in answers):
        findings.append(Finding(Violation.LOST, f"{landed} landed and no caller got its success"))
    elif not landed and not caller.is_settled and not caller.is_refused:
        last = answers[-1] if answers else "none"
        findings.append(
            Finding(Violation.UNRESOLVED, f"nothing landed in the end; the last answer was {last}")
        )
    return findings


def _judge_answer(answer: Answer, landed: str | None, *, is_dead: bool) -> list[Finding]:
    """A refusal with retry never, or a failure answered for a payment that landed."""
    if answer.is_success or answer.status == 0:
        return []
    is_for_ever = forbids_another_try(answer.reason)
    if not landed and is_dead and answer.reason == Reason.TRANSACTION_FAILED:
        return []
    if not landed:
        return (
            [Finding(Violation.REFUSED, f"/settle answered {answer.reason}")] if is_for_ever else []
        )
    is_other = answer.reason not in (Reason.DUPLICATE_SETTLEMENT, _ENDED)
    if (is_for_ever and is_other) or (answer.reason == _ENDED and answer.tx_hash == landed):
        return [Finding(Violation.FAILED, f"/settle answered {answer.reason}, and {landed} landed")]
    return []
