"""Envelopes and final statuses that the operator's budgets count, and the counters."""

from datetime import date
from typing import Final

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import BudgetRefusal
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import FinalStatus, Recording, SettlementState
from farebox.kernel.addresses import account_address
from farebox.storage.pool import Database
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason
from support.claims import NET, claim, signed_envelope

TODAY: Final = date(2026, 11, 21)
FEE: Final = 30_000
CHARGED: Final = 23_000
CONFIRMED: Final = FinalStatus(SettlementState.CONFIRMED, ledger=9, fee_charged=CHARGED)
FAILED: Final = FinalStatus(
    SettlementState.FAILED, Reason.TRANSACTION_FAILED, ledger=9, fee_charged=CHARGED
)
DEAD: Final = FinalStatus(SettlementState.DEAD, Reason.TRANSACTION_FAILED)
UNPROVEN: Final = FinalStatus(SettlementState.UNPROVEN, Reason.OUTCOME_UNPROVEN)


def envelope(tag: int, *, fee: int = FEE, source: int | None = None) -> SentEnvelope:
    """Build an envelope, from an account of its own unless `source` is given."""
    number = 10_000 + (tag if source is None else source)
    return signed_envelope(tag, source=account_address(number.to_bytes(32)), fee=fee)


async def read_counters(database: Database, day: date = TODAY) -> dict[str, int]:
    """The largest counter of each scope, none of which differs from its rows."""
    async with database.connection() as db:
        found = await budget_store.read_largest_counters(db, NET, day, each=1)
        assert await budget_store.find_drift(db) == []
    return {counter.scope.value: stroops for counter, stroops in found}


async def record_payment(
    journal: SettlementJournal, nonce: int, *, payer: int = 1
) -> Recording | BudgetRefusal:
    """Claim a payment and record its envelope as sent; a refused claim is released again."""
    mine = claim(nonce, payer=payer)
    await journal.claim(mine)
    recorded = await journal.record_sending(mine, envelope(nonce))
    if isinstance(recorded, BudgetRefusal):
        assert await journal.release(mine.identity, mine.claim_id)
    return recorded
