"""Judge a valid payment by the ledger, the journal and every answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from farebox.x402.reasons import Reason
from prove.nodes_caller import NodesCaller, forbids_another_try
from prove.payment_check import Answer, LedgerPayment, Row, SettlementViolation, judge

_ENDED: Final = Reason.SUBMISSION_FAILED  # the envelope cannot land any more
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
    """A violation and its evidence."""

    violation: Violation
    why: str


_VIOLATIONS: Final = {
    SettlementViolation.DOUBLED: Violation.DOUBLED,
    SettlementViolation.LOST: Violation.LOST,
    SettlementViolation.UNRESOLVED: Violation.UNRESOLVED,
}


def judge_payment(
    own: Sequence[LedgerPayment], row: Row | None, caller: NodesCaller, *, is_final: bool
) -> list[Finding]:
    """Find every violation of one payment; `own` are its transactions on the ledger."""
    landed = next((each.tx_hash for each in own if each.is_success), None)
    answers = caller.answers
    findings = [Finding(Violation.REFUSED, f"/verify answered {each}") for each in caller.refusals]
    is_dead = row is not None and row.state == _DEAD  # its time bound passed before it landed
    findings += [
        each for answer in answers for each in judge_answer(answer, landed, is_dead=is_dead)
    ]
    settlement_findings = judge(own, row, answers, is_final=is_final)
    findings += [Finding(_VIOLATIONS[each.violation], each.why) for each in settlement_findings]
    if landed and not caller.is_settled and all(each.status for each in answers):
        findings.append(Finding(Violation.LOST, f"{landed} landed and no caller got its success"))
    elif not landed and not caller.is_settled and not caller.is_refused:
        last = answers[-1] if answers else "none"
        findings.append(
            Finding(Violation.UNRESOLVED, f"nothing landed in the end; the last answer was {last}")
        )
    return findings


def judge_answer(answer: Answer, landed: str | None, *, is_dead: bool) -> list[Finding]:
    """Find a refusal with retry class never, or a failure for a payment that landed."""
    if answer.is_success or answer.status == 0:
        return []
    is_permanent = forbids_another_try(answer.reason)
    if not landed and is_dead and answer.reason == Reason.TRANSACTION_FAILED:
        return []
    if not landed:
        return (
            [Finding(Violation.REFUSED, f"/settle answered {answer.reason}")]
            if is_permanent
            else []
        )
    is_other = answer.reason not in (Reason.DUPLICATE_SETTLEMENT, _ENDED)
    if (is_permanent and is_other) or (answer.reason == _ENDED and answer.tx_hash == landed):
        return [Finding(Violation.FAILED, f"/settle answered {answer.reason}, and {landed} landed")]
    return []
