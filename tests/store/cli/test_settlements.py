"""`farebox settlements end`: an operator ends a settlement whose outcome is unproven."""

import pytest

from farebox.cli.exits import UserActionRequired
from farebox.cli.settlements import end_unproven
from farebox.facilitator.budgets import budget_store
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import FINAL_STATES, FinalStatus, SettlementState
from farebox.storage.pool import Database
from support.claims import claim, signed_envelope
from support.manual_clock import ManualClock

HASH = signed_envelope(1).tx_hash.hex()
MADE = claim(1)


async def state_of(database: Database) -> SettlementState:
    row = await SettlementJournal(database, ManualClock()).find(MADE.identity)
    assert row is not None
    return row.state


async def audited(database: Database) -> list[str]:
    async with database.connection() as db:
        query = "SELECT subject FROM audit_trail WHERE action = 'settlement.ended'"
        return [row["subject"] for row in await db.fetch(query)]


async def send(database: Database, final: FinalStatus | None = None) -> None:
    journal = SettlementJournal(database, ManualClock())
    await journal.claim(MADE)
    await journal.record_sending(MADE, signed_envelope(1))
    if final is not None:
        assert await journal.record_final(signed_envelope(1).tx_hash, final)


async def test_unproven_settlement_is_ended_once_and_audited(database: Database) -> None:
    await send(database, FinalStatus(SettlementState.UNPROVEN))
    with pytest.raises(UserActionRequired, match="--yes"):
        await end_unproven(database, HASH, is_confirmed=False)
    assert (await state_of(database), await audited(database)) == (SettlementState.UNPROVEN, [])
    assert HASH in await end_unproven(database, HASH, is_confirmed=True)
    assert (await state_of(database), await audited(database)) == (SettlementState.DEAD, [HASH])
    with pytest.raises(UserActionRequired):
        await end_unproven(database, HASH, is_confirmed=True)
    async with database.connection() as db:
        assert await budget_store.find_drift(db) == []


@pytest.mark.parametrize("state", [None, *sorted(FINAL_STATES - {SettlementState.UNPROVEN})])
async def test_only_an_unproven_settlement_is_ended(
    database: Database, state: SettlementState | None
) -> None:
    await send(database, None if state is None else FinalStatus(state))
    before = await state_of(database)
    for named in (HASH, "ab" * 32, "nonsense"):
        with pytest.raises(UserActionRequired):
            await end_unproven(database, named, is_confirmed=True)
    assert await state_of(database) is before
    assert await audited(database) == []
