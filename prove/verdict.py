"""What many payments came to together, and what the books say about all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from prove.arena import Arena
from prove.books import Opening, audit
from prove.caller import Caller
from prove.truth import (
    Found,
    grouped,
    is_answer_cut,
    judge,
    read_ledger,
    read_row,
    settled_down,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong, how many successes were cut off, and how many payments are confirmed."""

    found: list[Found]
    answer_cut: int
    settled: int


async def judge_all(
    arena: Arena, callers: Sequence[Caller], before: Opening, *, until: float
) -> Verdict:
    """Every fault of every payment, given until `until` (the loop's time), and of the books."""
    are_down = [await settled_down(arena, each.payment, until=until) for each in callers]
    by_payment = grouped(await read_ledger(arena))
    found: list[Found] = []
    cut = confirmed = 0
    for caller, is_down in zip(callers, are_down, strict=True):
        own = by_payment[caller.payment.payer, caller.payment.nonce]
        row = await read_row(arena, caller.payment)
        found += judge(own, row, caller.answers, is_settled_down=is_down)
        cut += is_answer_cut(row, caller.answers)
        confirmed += row is not None and row.state == "confirmed"
    return Verdict(found + await audit(arena, before), cut, confirmed)
