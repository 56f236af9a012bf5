"""What the operator's budgets are counted from, and what the counters come to."""

from datetime import date
from typing import Final

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.settlement import Ending, SettlementState
from farebox.kernel.addresses import account_address
from farebox.storage.pool import Database
from farebox.submission.fate import SentEnvelope
from farebox.x402.reasons import Reason
from support.claims import NET, sealed

TODAY: Final = date(2026, 11, 21)
FEE: Final = 30_000
CHARGED: Final = 23_000
CONFIRMED: Final = Ending(SettlementState.CONFIRMED, ledger=9, fee_charged=CHARGED)
FAILED: Final = Ending(
    SettlementState.FAILED, Reason.TRANSACTION_FAILED, ledger=9, fee_charged=CHARGED
)
DEAD: Final = Ending(SettlementState.DEAD, Reason.TRANSACTION_FAILED)
UNPROVEN: Final = Ending(SettlementState.UNPROVEN, Reason.OUTCOME_UNPROVEN)


def envelope(tag: int, *, fee: int = FEE, source: int | None = None) -> SentEnvelope:
    """Each from an account of its own unless told otherwise."""
    number = 10_000 + (tag if source is None else source)
    return sealed(tag, source=account_address(number.to_bytes(32)), fee=fee)


async def stands_at(database: Database, day: date = TODAY) -> dict[str, int]:
    """The largest counter of each scope, none of which differs from its rows."""
    async with database.connection() as db:
        found = await budget_store.largest_counters(db, NET, day, each=1)
        assert await budget_store.find_drift(db) == []
    return {counter.scope.value: stroops for counter, stroops in found}
