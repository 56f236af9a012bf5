"""Judges many payments together, and the sums over all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from prove.accounting import Balances, audit_balances
from prove.caller import Caller
from prove.environment import Environment
from prove.payment_check import (
    SettlementFinding,
    group_by_payment,
    is_answer_cut,
    judge,
    read_ledger,
    read_row,
    wait_until_final,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The findings, the successes that were cut off, and the confirmed payments."""

    findings: list[SettlementFinding]
    answer_cut: int
    settled: int


async def judge_all(
    environment: Environment, callers: Sequence[Caller], before: Balances, *, until: float
) -> Verdict:
    """Judge every payment and all sums; payments have until `until` (the loop's time)."""
    are_final = [await wait_until_final(environment, each.payment, until=until) for each in callers]
    by_payment = group_by_payment(await read_ledger(environment))
    findings: list[SettlementFinding] = []
    cut = confirmed = 0
    for caller, is_final in zip(callers, are_final, strict=True):
        own = by_payment[caller.payment.payer, caller.payment.nonce]
        row = await read_row(environment, caller.payment)
        findings += judge(own, row, caller.answers, is_final=is_final)
        cut += is_answer_cut(row, caller.answers)
        confirmed += row is not None and row.state == "confirmed"
    return Verdict(findings + await audit_balances(environment, before), cut, confirmed)
