"""What the paymaster sends besides runs: a row that was given up is not sent any more."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from farebox.automation.execution.sponsorship import Sponsorship
from farebox.automation.paymaster import channel_store, sponsored_store
from farebox.automation.paymaster.budget_store import UNLIMITED
from farebox.automation.paymaster.sponsored_store import (
    RowLost,
    SponsoredOutcome,
    SponsoredPurpose,
    SponsoredRow,
)
from farebox.kernel.amounts import Stroops
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Connection, Database
from farebox.submission.fate import SentEnvelope
from support.automation import draft_plan, put_plan
from support.journal_rows import party

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


async def begin(database: Database) -> SponsoredRow:
    """A row that has taken the only channel, with the envelope that its process has signed."""
    channel = party(901)
    async with database.transaction() as db:
        plan = await put_plan(db, draft_plan(now=NOW), now=NOW)
        await channel_store.add_channels(db, Network.TESTNET, [(channel, 0)], at=NOW)
        row = SponsoredRow(
            "aspo_1",
            plan.terms.id,
            SponsoredPurpose.INSTALL,
            Network.TESTNET,
            plan.terms.owner,
            SponsoredOutcome.TAKEN,
        )
        assert await sponsored_store.add_row(db, row) is not None
    sent = SentEnvelope(
        tx_hash=bytes(32),
        inner_hash=bytes(31) + b"i",
        envelope=Secret(b"signed"),
        source=channel,
        source_sequence=8,
        max_time=NOW + timedelta(minutes=1),
        fee_limit=Stroops(1_000),
        sent_after_ledger=100,
    )
    return replace(row, sent=sent, budget_on=NOW.date())


async def test_envelope_is_recorded_once_while_its_row_holds_the_channel(
    database: Database,
) -> None:
    row = await begin(database)
    async with database.transaction() as db:
        assert await sponsored_store.record_sent(db, row, UNLIMITED) is None
    with pytest.raises(RowLost):
        async with database.transaction() as db:
            await sponsored_store.record_sent(db, row, UNLIMITED)


async def test_envelope_of_a_row_that_recovery_gave_up_is_not_recorded(database: Database) -> None:
    """Its channel is free, and another envelope may have its number."""
    row = await begin(database)
    async with database.transaction() as db:
        assert await sponsored_store.finish_row(db, row, SponsoredOutcome.DEAD)
    with pytest.raises(RowLost):
        async with database.transaction() as db:
            await sponsored_store.record_sent(db, row, UNLIMITED)
    async with database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM automation_spend WHERE stroops > 0") == 0


async def test_envelope_that_is_recorded_while_recovery_reads_its_row_keeps_the_channel(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is being sent: neither its number nor its fee is free."""
    row, listed = await begin(database), sponsored_store.list_lost
    async with database.connection() as db:
        await db.execute("UPDATE automation_sponsored SET created_at = now() - interval '1 h'")

    async def sign_after(db: Connection, *args: Any, **more: Any) -> Sequence[SponsoredRow]:
        lost = await listed(db, *args, **more)
        assert [each.sent for each in lost] == [None]
        async with database.transaction() as other:
            await sponsored_store.record_sent(other, row, UNLIMITED)
        return lost

    monkeypatch.setattr(sponsored_store, "list_lost", sign_after)
    needs: Any = SimpleNamespace(network=Network.TESTNET)
    await Sponsorship(needs, database, SystemClock()).recover()
    async with database.connection() as db:
        found = await sponsored_store.find_row(db, row.id)
        held = await db.fetchval("SELECT sponsored_id FROM automation_channels")
        spent = await db.fetchval("SELECT stroops FROM automation_spend WHERE scope = 'total'")
    assert found is not None
    assert (found.outcome, held, spent) == (SponsoredOutcome.PREPARED, row.id, 1_000)
