"""Judge a valid payment whose statements failed, by ledger, journal and every answer."""

from collections.abc import Sequence
from typing import Final

from prove.nodes_caller import NodesCaller
from prove.nodes_verdict import judge_answer
from prove.outcome import Finding
from prove.payment_check import (
    Answer,
    LedgerPayment,
    PaymentFinding,
    Row,
    SettlementViolation,
    judge,
    landed_of,
)

_UNAVAILABLE: Final = 503


# as the figures name them
VIOLATIONS: Final = (
    SettlementViolation.LOST,
    SettlementViolation.DOUBLED,
    SettlementViolation.FORFEITED,
    SettlementViolation.FAILED,
    SettlementViolation.UNRESOLVED,
    SettlementViolation.RETRY_AFTER,
    SettlementViolation.UNEXPLAINED,
)


def judge_payment(
    own: Sequence[LedgerPayment],
    row: Row | None,
    caller: NodesCaller,
    *,
    is_final: bool,
    is_replayed: bool,
) -> list[PaymentFinding]:
    """Find every violation of one payment; `own` are its transactions on the ledger.

    `is_replayed`: the request has an `Idempotency-Key`, so its success may be replayed.
    """
    landed = landed_of(own)
    answers = _without_replays(caller.answers) if is_replayed else caller.answers
    findings = [each for answer in caller.answers for each in _judge_answer(answer, landed)]
    findings += judge(own, row, answers, is_final=is_final)
    if landed and not caller.is_settled:
        why = f"{landed} landed and no caller got its success"
        findings.append(Finding(SettlementViolation.FORFEITED, why))
    elif not landed:
        last = answers[-1] if answers else "none"
        why = f"nothing landed; the last answer was {last}"
        findings.append(Finding(SettlementViolation.UNRESOLVED, why))
    return findings


def _without_replays(answers: Sequence[Answer]) -> list[Answer]:
    """Drop replays of a success; keep the last."""
    return [
        answer
        for index, answer in enumerate(answers)
        if not answer.is_success or answer.body not in [each.body for each in answers[index + 1 :]]
    ]


def _judge_answer(answer: Answer, landed: str | None) -> list[PaymentFinding]:
    findings = [
        Finding(SettlementViolation.FAILED, each.why)
        for each in judge_answer(answer, landed, is_dead=False)
    ]
    if answer.status == _UNAVAILABLE and answer.retry_after is None:
        why = f"{answer} came without Retry-After"
        findings.append(Finding(SettlementViolation.RETRY_AFTER, why))
    if answer.status not in (200, _UNAVAILABLE):
        findings.append(Finding(SettlementViolation.UNEXPLAINED, str(answer)))
    return findings
