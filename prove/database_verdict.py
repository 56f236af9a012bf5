"""Judge a valid payment whose statements failed, by ledger, journal and every answer."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from prove.nodes_caller import NodesCaller
from prove.nodes_verdict import judge_answer
from prove.payment_check import Answer, LedgerPayment, Row, SettlementViolation, judge

_UNAVAILABLE: Final = 503


class Violation(StrEnum):
    """A wrong treatment of a payment by a service with a failing database."""

    LOST = "lost"
    DOUBLED = "doubled"
    FORFEITED = "forfeited"
    FAILED = "false_failures"
    UNRESOLVED = "unresolved"
    RETRY_AFTER = "retry_after_missing"
    UNEXPLAINED = "unexplained"


_VIOLATIONS: Final = {
    SettlementViolation.DOUBLED: Violation.DOUBLED,
    SettlementViolation.LOST: Violation.LOST,
    SettlementViolation.UNRESOLVED: Violation.UNRESOLVED,
}
Finding = tuple[Violation, str]


def judge_payment(
    own: Sequence[LedgerPayment],
    row: Row | None,
    caller: NodesCaller,
    *,
    is_final: bool,
    is_replayed: bool,
) -> list[Finding]:
    """Find every violation of one payment; `own` are its transactions on the ledger.

    `is_replayed`: the request has an `Idempotency-Key`, so its success may be replayed.
    """
    landed = next((each.tx_hash for each in own if each.is_success), None)
    answers = _without_replays(caller.answers) if is_replayed else caller.answers
    findings = [each for answer in caller.answers for each in _judge_answer(answer, landed)]
    settlement_findings = judge(own, row, answers, is_final=is_final)
    findings += [(_VIOLATIONS[each.violation], each.why) for each in settlement_findings]
    if landed and not caller.is_settled:
        findings.append((Violation.FORFEITED, f"{landed} landed and no caller got its success"))
    elif not landed:
        last = answers[-1] if answers else "none"
        findings.append((Violation.UNRESOLVED, f"nothing landed; the last answer was {last}"))
    return findings


def _without_replays(answers: Sequence[Answer]) -> list[Answer]:
    """Drop replays of a success; keep the last."""
    return [
        answer
        for index, answer in enumerate(answers)
        if not answer.is_success or answer.body not in [each.body for each in answers[index + 1 :]]
    ]


def _judge_answer(answer: Answer, landed: str | None) -> list[Finding]:
    findings = [
        (Violation.FAILED, each.why) for each in judge_answer(answer, landed, is_dead=False)
    ]
    if answer.status == _UNAVAILABLE and answer.retry_after is None:
        findings.append((Violation.RETRY_AFTER, f"{answer} came without Retry-After"))
    if answer.status not in (200, _UNAVAILABLE):
        findings.append((Violation.UNEXPLAINED, str(answer)))
    return findings
