"""A final settlement loses its envelope and its text with time, and keeps every answer."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

import asyncpg
import pytest

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import oldest_day
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.journal.retention import KEPT_AFTER_EXPIRY, EnvelopeRetention
from farebox.facilitator.settlement import FinalStatus, PaymentIdentity, Settlement, SettlementState
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.ledger_clock import LedgerReading
from farebox.storage.pool import Database
from support.budgets import CONFIRMED, DEAD, FAILED, UNPROVEN, envelope, read_counters
from support.claims import NET, claim
from support.manual_clock import START, ManualClock

EXPIRES: Final = 200  # of every claim
NO_ENVELOPE: Final = Secret(b"")
DAY_LEDGERS: Final = 17_280  # at five seconds each


@dataclass(frozen=True, slots=True)
class Ledgers:
    """The ledger clock at one moment."""

    sequence: int = EXPIRES + DAY_LEDGERS + 1
    at: datetime = START + KEPT_AFTER_EXPIRY + timedelta(seconds=1)
    cadence_s: float = 5.0

    def now(self) -> LedgerReading:
        return LedgerReading(self.sequence, self.at, self.cadence_s, 0.0)


async def ended(
    journal: SettlementJournal, nonce: int, ending: FinalStatus | None = CONFIRMED
) -> PaymentIdentity:
    """Record a settlement as sent, and as final with `ending`, if any."""
    mine = replace(claim(nonce), discovery=b"{}")
    assert await journal.claim(mine)
    await journal.record_sending(mine, envelope(nonce))
    if ending is not None:
        assert await journal.record_final(envelope(nonce).tx_hash, ending)
    return mine.identity


async def prune(
    database: Database, ledgers: Ledgers, *, network: Network = NET, limit: int = 99
) -> int:
    async with database.connection() as db:
        return await EnvelopeRetention(network, ledgers).prune(db, limit)


async def with_envelope(database: Database) -> set[int]:
    async with database.connection() as db:
        rows = await db.fetch("SELECT nonce FROM settlements WHERE envelope <> ''")
    return {row["nonce"] for row in rows}


async def test_envelope_is_kept_within_a_day_of_expiry(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock())
    await ended(journal, 1)
    for ledgers in (
        Ledgers(sequence=EXPIRES + DAY_LEDGERS),  # one ledger before
        Ledgers(sequence=EXPIRES + DAY_LEDGERS + 1, cadence_s=4.9),
        Ledgers(sequence=EXPIRES + DAY_LEDGERS, cadence_s=9.0),
        Ledgers(at=START + KEPT_AFTER_EXPIRY),  # it ended within the day
    ):
        assert await prune(database, ledgers) == 0
        assert await with_envelope(database) == {1}


@pytest.mark.parametrize("ending", [None, UNPROVEN])
async def test_envelope_of_an_unresolved_settlement_is_never_pruned(
    database: Database, ending: FinalStatus | None
) -> None:
    journal = SettlementJournal(database, ManualClock())
    await ended(journal, 1, ending)
    late = Ledgers(sequence=10**9, at=START + timedelta(days=900))
    assert await prune(database, late) == 0
    assert await prune(database, late, network=Network.PUBNET) == 0
    async with database.connection() as db:
        with pytest.raises(asyncpg.CheckViolationError):
            await db.execute("UPDATE settlements SET envelope = NULL")


@pytest.mark.parametrize("ending", [CONFIRMED, FAILED, DEAD])
async def test_settlement_whose_envelope_is_pruned_after_a_day_still_answers_a_repeated_payment(
    database: Database, ending: FinalStatus
) -> None:
    journal = SettlementJournal(database, ManualClock())
    identity = await ended(journal, 1, ending)
    before = await journal.find(identity)
    assert [await prune(database, Ledgers()) for _ in range(2)] == [1, 0]
    assert await with_envelope(database) == set()
    after = await journal.find(identity)
    assert before is not None
    assert after is not None
    assert after.sent is not None
    assert _without_envelope(after) == _without_envelope(before)
    assert after.sent.envelope.reveal() == b""
    by_hash = await journal.find_by_hash(envelope(1).tx_hash)
    assert by_hash is not None
    assert _without_envelope(by_hash) == _without_envelope(after)
    assert not await journal.claim(claim(1)), "its identity is taken for ever"
    owned = [await journal.take_success(identity, before.request_digest) for _ in range(2)]
    assert owned == [ending is CONFIRMED, False], "a success that was left free is still there"
    assert await read_counters(database) != {} or ending is DEAD


def _without_envelope(found: Settlement) -> Settlement:
    assert found.sent is not None
    return replace(found, sent=replace(found.sent, envelope=NO_ENVELOPE))


async def test_prune_skips_a_locked_row(database: Database, other_pool: Database) -> None:
    journal = SettlementJournal(database, ManualClock())
    for nonce in range(1, 6):
        await ended(journal, nonce)
    async with other_pool.transaction() as holder:
        await holder.execute("SELECT FROM settlements WHERE nonce = 2 FOR UPDATE")
        assert [await prune(database, Ledgers(), limit=3) for _ in range(3)] == [3, 1, 0]
        assert await with_envelope(database) == {2}
    assert await prune(database, Ledgers(), limit=3) == 1


async def test_discovery_text_is_deleted_when_the_settlement_lists_nothing(
    database: Database,
) -> None:
    journal = SettlementJournal(database, ManualClock())
    for nonce, ending in enumerate((CONFIRMED, FAILED, DEAD, UNPROVEN)):
        await ended(journal, nonce, ending)
    async with database.connection() as db:
        rows = await db.fetch("SELECT state FROM settlements WHERE discovery IS NOT NULL")
    assert [row["state"] for row in rows] == [SettlementState.CONFIRMED], "still to be listed"
    assert await prune(database, Ledgers()) == 3
    async with database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM settlements WHERE discovery IS NOT NULL")
        await db.execute("UPDATE settlements SET listing_outcome = 'listed', envelope = '\\x00'")
        # as an older version of the program left it
    assert await prune(database, Ledgers()) == 3
    async with database.connection() as db:
        texts = "SELECT count(*) FROM settlements WHERE discovery IS NOT NULL"
        assert await db.fetchval(texts) == 0


async def test_delete_days_keeps_a_week_of_budget_counters(
    database: Database,
) -> None:
    today = START.astimezone(UTC).date()
    days = [today - timedelta(days=ago) for ago in (0, 6, 7, 8, 9, 300)]
    async with database.connection() as db:
        for day in days:
            await db.execute(
                "INSERT INTO sponsor_spend (network, day, scope, name, stroops)"
                " VALUES ($1, $2, 'total', '', 5)",
                NET.value,
                day,
            )
        before = oldest_day(today)
        gone = [await budget_store.delete_days(db, before=before, limit=2) for _ in range(3)]
        left: list[date] = [
            row["day"] for row in await db.fetch("SELECT day FROM sponsor_spend ORDER BY day DESC")
        ]
    assert (gone, left) == ([2, 1, 0], days[:3])
