"""Compares every payment of a run with a killed replica with ledger and journal."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from bench.settle_load import Answer
from bench.settle_payments import Identity
from bench.settle_run import Run
from farebox.kernel.addresses import Address, raw_key
from farebox.kernel.secret import Secret
from testing.database import connected

_UNFINISHED: Final = frozenset({"claimed", "sending", "submitted"})
_LOOK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Row:
    """The row of a payment in the journal."""

    state: str
    is_answered: bool


@dataclass(frozen=True, slots=True)
class PaymentAudit:
    """Counts of payments by violation; a success cut off by the kill is no violation."""

    landed_unconfirmed: int  # on the ledger, and neither answered as success nor confirmed
    success_not_landed: int  # answered as success, or confirmed, and not on the ledger
    failure_landed: int  # answered as a failure, and on the ledger
    landed_twice: int
    success_twice: int  # two answers of success
    unresolved: int  # no final answer, or no final row, in time
    answer_cut: int  # confirmed, its one success went to a connection that was dead

    @property
    def lost(self) -> int:
        """The number of violations."""
        return sum(self.figures().values()) - self.answer_cut

    def figures(self) -> dict[str, int]:
        """Return the figures, rounded for a reader."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


async def read_journal(database: Secret[str], *, within_s: float) -> dict[Identity, Row]:
    """Read every row, once all are final or the time is over."""
    until = time.monotonic() + within_s
    async with connected(database) as connection:
        while True:
            found = await connection.fetch(
                "SELECT payer, nonce, state, answered_at IS NOT NULL AS answered FROM settlements"
            )
            rows = {
                (raw_key(Address(each["payer"])), each["nonce"]): Row(
                    each["state"], each["answered"]
                )
                for each in found
            }
            is_over = time.monotonic() > until
            if is_over or not any(each.state in _UNFINISHED for each in rows.values()):
                return rows
            await asyncio.sleep(_LOOK_S)


def audit_payments(run: Run, rows: Mapping[Identity, Row]) -> PaymentAudit:
    """Judge every payment of a run."""
    landings = Counter(each.identity for each in run.landed if each.is_success)
    found = Counter[str]()
    for answer in run.answers:
        identity = run.payments[answer.index].identity
        found.update(find_faults(answer, landings[identity], rows.get(identity)))
    return PaymentAudit(**{each.name: found[each.name] for each in fields(PaymentAudit)})


def find_faults(answer: Answer, landings: int, row: Row | None) -> list[str]:
    """Find the violations of one payment, as fields of `PaymentAudit`."""
    state = row.state if row is not None else ""
    is_confirmed = state == "confirmed"
    is_resolved = answer.is_final and state not in _UNFINISHED
    is_cut = is_confirmed and answer.successes == 0 and row is not None and row.is_answered
    checks = {
        "landed_unconfirmed": landings > 0 and not answer.successes and not is_confirmed,
        "success_not_landed": landings == 0 and (answer.successes > 0 or is_confirmed),
        "failure_landed": landings > 0 and answer.successes == 0 and is_resolved and not is_cut,
        "landed_twice": landings > 1,
        "success_twice": answer.successes > 1,
        "unresolved": not is_resolved,
        "answer_cut": landings == 1 and is_cut,
    }
    return [name for name, holds in checks.items() if holds]
