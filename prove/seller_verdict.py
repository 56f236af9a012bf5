"""Judges a valid payment at faulty nodes or a failing database: by ledger, journal and answers."""

from collections.abc import Sequence
from typing import Final

from farebox.x402.reasons import Reason
from prove.caller import NodesCaller, forbids_another_try
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

_ENDED: Final = Reason.SUBMISSION_FAILED  # the envelope cannot land any more
_DEAD: Final = "dead"


# as the figures of the proof of nodes name them
NODE_VIOLATIONS: Final = (
    SettlementViolation.REFUSED,
    SettlementViolation.FAILED,
    SettlementViolation.DOUBLED,
    SettlementViolation.LOST,
    SettlementViolation.UNRESOLVED,
)


def judge_at_nodes(
    own: Sequence[LedgerPayment], row: Row | None, caller: NodesCaller, *, is_final: bool
) -> list[PaymentFinding]:
    """Find every violation of one payment; `own` are its transactions on the ledger."""
    landed = landed_of(own)
    answers = caller.answers
    findings = [
        Finding(SettlementViolation.REFUSED, f"/verify answered {each}") for each in caller.refusals
    ]
    is_dead = row is not None and row.state == _DEAD  # its time bound passed before it landed
    findings += [
        each for answer in answers for each in judge_answer(answer, landed, is_dead=is_dead)
    ]
    findings += judge(own, row, answers, is_final=is_final)
    if landed and not caller.is_settled and all(each.status for each in answers):
        why = f"{landed} landed and no caller got its success"
        findings.append(Finding(SettlementViolation.LOST, why))
    elif not landed and not caller.is_settled and not caller.is_refused:
        last = answers[-1] if answers else "none"
        why = f"nothing landed in the end; the last answer was {last}"
        findings.append(Finding(SettlementViolation.UNRESOLVED, why))
    return findings


def judge_answer(answer: Answer, landed: str | None, *, is_dead: bool) -> list[PaymentFinding]:
    """Find a refusal with retry class never, or a failure for a payment that landed."""
    if answer.is_success or answer.status == 0:
        return []
    is_permanent = forbids_another_try(answer.reason)
    if not landed and is_dead and answer.reason == Reason.TRANSACTION_FAILED:
        return []
    if not landed:
        return (
            [Finding(SettlementViolation.REFUSED, f"/settle answered {answer.reason}")]
            if is_permanent
            else []
        )
    is_other = answer.reason not in (Reason.DUPLICATE_SETTLEMENT, _ENDED)
    if (is_permanent and is_other) or (answer.reason == _ENDED and answer.tx_hash == landed):
        return [
            Finding(
                SettlementViolation.FAILED, f"/settle answered {answer.reason}, and {landed} landed"
            )
        ]
    return []


_UNAVAILABLE: Final = 503


# as the figures of the proof of the database name them
DATABASE_VIOLATIONS: Final = (
    SettlementViolation.LOST,
    SettlementViolation.DOUBLED,
    SettlementViolation.FORFEITED,
    SettlementViolation.FAILED,
    SettlementViolation.UNRESOLVED,
    SettlementViolation.RETRY_AFTER,
    SettlementViolation.UNEXPLAINED,
)


def judge_at_database(
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
