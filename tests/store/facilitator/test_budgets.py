"""What the sponsor's budgets hold, give back and refuse, on a real database."""

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

import pytest

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import Budgets, Counter, OverBudget, Scope
from farebox.facilitator.budgets.sponsor import Sponsor
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import Ending, Recording
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from farebox.x402.payment import PaymentTerms
from farebox.x402.reasons import Reason
from support.budgets import (
    CHARGED,
    CONFIRMED,
    DEAD,
    FAILED,
    FEE,
    TODAY,
    UNPROVEN,
    envelope,
    stands_at,
)
from support.claims import ASSET, NET, PAY_TO, PAYER_1, claim
from support.manual_clock import START, ManualClock


class At(ManualClock):
    """A clock that can be set."""

    moment = START

    def now(self) -> datetime:
        return self.moment


async def sent(journal: SettlementJournal, nonce: int, **how: int) -> Recording | OverBudget:
    mine = claim(nonce, payer=how.pop("payer", 1))
    await journal.claim(mine)
    recorded = await journal.sending(mine, envelope(nonce, **how))
    if isinstance(recorded, OverBudget):
        assert await journal.release(mine.identity, mine.claim_id)
    return recorded


ALL: Final = ("total", "payer", "pay_to", "other_assets")


async def test_the_highest_fee_is_held_from_sending_on_and_what_was_charged_stays(
    database: Database,
) -> None:
    journal = SettlementJournal(database, ManualClock())
    assert await stands_at(database) == {}
    assert await sent(journal, 1) is Recording.WRITTEN
    assert await stands_at(database) == dict.fromkeys(ALL, FEE)
    await journal.submitted(envelope(1).tx_hash)
    assert await stands_at(database) == dict.fromkeys(ALL, FEE)
    assert await journal.end(envelope(1).tx_hash, CONFIRMED)
    assert not await journal.end(envelope(1).tx_hash, DEAD), "given back once"
    assert await stands_at(database) == dict.fromkeys(ALL, CHARGED)


@pytest.mark.parametrize(
    ("ending", "kept", "lost"),
    [
        (CONFIRMED, CHARGED, 0),
        (replace(CONFIRMED, moved_more=True), CHARGED, CHARGED),
        (FAILED, CHARGED, CHARGED),
        (DEAD, 0, 0),
        (UNPROVEN, FEE, 0),
    ],
)
async def test_each_end_keeps_what_it_cost(
    database: Database, ending: Ending, kept: int, lost: int
) -> None:
    journal = SettlementJournal(database, ManualClock())
    await sent(journal, 1)
    ends = await asyncio.gather(*(journal.end(envelope(1).tx_hash, ending) for _ in range(20)))
    assert ends.count(True) == 1
    stands = await stands_at(database)
    assert (stands.get("total", 0), stands.get("payer_loss", 0)) == (kept, lost)


async def test_a_withdrawn_envelope_gives_everything_back_once(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock())
    await sent(journal, 1)
    row = await journal.find(claim(1).identity)
    assert row is not None
    tx_hash = envelope(1).tx_hash
    withdrawn = await asyncio.gather(
        *(journal.withdraw(row.identity, tx_hash, claim_id=row.claim_id) for _ in range(10))
    )
    assert withdrawn.count(True) == 1
    assert await stands_at(database) == {}


async def test_replacing_an_envelope_changes_what_is_held(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock(), {NET: Budgets(payer=Stroops(2 * FEE))})
    mine = claim(1)
    await journal.claim(mine)
    await journal.sending(mine, envelope(1))
    dearer, too_dear = envelope(2, fee=2 * FEE), envelope(3, fee=2 * FEE + 1)
    dead = envelope(1).tx_hash
    assert await journal.replace(mine, dead=dead, sent=too_dear) == OverBudget(Scope.PAYER)
    assert (await stands_at(database))["payer"] == FEE
    assert await journal.replace(mine, dead=dead, sent=dearer) is Recording.WRITTEN
    assert (await stands_at(database))["payer"] == 2 * FEE
    assert await journal.replace(mine, dead=dead, sent=dearer) is Recording.CLAIM_LOST
    cheaper = envelope(4, fee=1)
    assert await journal.replace(mine, dead=dearer.tx_hash, sent=cheaper) is Recording.WRITTEN
    assert (await stands_at(database))["payer"] == 1
    assert await journal.withdraw(mine.identity, cheaper.tx_hash, claim_id=mine.claim_id)
    assert await stands_at(database) == {}


async def test_it_is_given_back_to_the_day_it_was_taken_from(database: Database) -> None:
    clock = At()
    clock.moment = datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)
    budgets = Budgets(payer=Stroops(FEE))
    journal = SettlementJournal(database, clock, {NET: budgets})
    await sent(journal, 1)
    assert await sent(journal, 2) == OverBudget(Scope.PAYER)
    clock.moment += timedelta(seconds=2)
    tomorrow = date(2026, 11, 22)
    assert await sent(journal, 3) is Recording.WRITTEN, "a new day"
    await journal.end(envelope(1).tx_hash, CONFIRMED)
    assert (await stands_at(database))["total"] == CHARGED
    assert (await stands_at(database, tomorrow))["total"] == FEE
    mine = claim(3)
    dearer = envelope(4, fee=FEE + 1)
    clock.moment += timedelta(days=1)
    assert await journal.replace(mine, dead=envelope(3).tx_hash, sent=dearer) == OverBudget(
        Scope.PAYER
    ), "the day the row counts on"


async def test_a_payer_whose_failures_cost_enough_is_stopped_for_the_day(
    database: Database,
) -> None:
    clock = At()
    budgets = Budgets(payer_loss=Stroops(2 * CHARGED))
    journal = SettlementJournal(database, clock, {NET: budgets})
    for nonce in (1, 2):
        assert await sent(journal, nonce) is Recording.WRITTEN
        await journal.end(envelope(nonce).tx_hash, FAILED)
    assert await sent(journal, 3) == OverBudget(Scope.PAYER_LOSS)
    assert await sent(journal, 4, payer=2) is Recording.WRITTEN, "others go on"
    clock.moment += timedelta(days=1)
    assert await sent(journal, 5) is Recording.WRITTEN


async def test_rows_of_an_older_version_end_without_touching_a_counter(
    database: Database,
) -> None:
    journal = SettlementJournal(database, ManualClock())
    await sent(journal, 1)
    async with database.transaction() as db:
        await db.execute("UPDATE settlements SET fee_held = 0, budget_on = NULL")
        await db.execute("DELETE FROM sponsor_spend")
    assert await journal.end(envelope(1).tx_hash, FAILED)
    assert await stands_at(database) == {}


async def test_a_counter_that_was_tampered_with_is_found(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock())
    await sent(journal, 1)
    async with database.connection() as db:
        await db.execute("UPDATE sponsor_spend SET stroops = stroops - 1 WHERE scope = 'payer'")
        (drift,) = await budget_store.find_drift(db)
    assert (drift.scope, drift.name) == ("payer", PAYER_1)
    assert (drift.counted, drift.summed) == (FEE - 1, FEE)


async def test_what_the_journal_would_refuse_is_known_early(database: Database) -> None:
    budgets = Budgets(payer=Stroops(FEE + 10), payer_loss=Stroops(CHARGED))
    clock = At()
    journal = SettlementJournal(database, clock, {NET: budgets})
    sponsor = Sponsor(NET, budgets, database, clock, dearest=Stroops(500_000))
    terms = PaymentTerms(NET, ASSET, BaseUnits(1), PAY_TO, 60)
    await sent(journal, 1)
    assert sponsor.refusal(terms, PAYER_1, stroops=11) is None, "not looked yet"
    await sponsor.refresh()
    assert sponsor.refusal(terms, PAYER_1, stroops=10) is None
    assert sponsor.refusal(terms, PAYER_1, stroops=11) is Reason.SPONSOR_BUDGET_EXHAUSTED
    assert sponsor.refusal(terms, PAY_TO, stroops=11) is None, "another payer"
    await journal.end(envelope(1).tx_hash, FAILED)
    await sponsor.refresh()
    assert sponsor.refusal(terms, PAYER_1, stroops=0) is Reason.PAYER_STOPPED
    clock.moment += timedelta(days=1)
    assert sponsor.refusal(terms, PAYER_1, stroops=1) is None
    sponsor.balance_is_low = True
    assert sponsor.refusal(terms, PAYER_1, stroops=0) is Reason.SPONSOR_BALANCE_LOW
    async with database.connection() as db:
        await budget_store.stop_network(db, NET, at=START)
    await sponsor.refresh()
    assert sponsor.refusal(terms, PAYER_1, stroops=0) is Reason.SPONSOR_STOPPED


async def test_a_counter_is_looked_up_by_all_of_its_name(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock())
    await sent(journal, 1)
    wanted = Counter(NET, TODAY, Scope.PAYER, PAYER_1)
    others = [
        replace(wanted, network=Network.PUBNET),
        replace(wanted, day=TODAY + timedelta(days=1)),
        replace(wanted, name=PAY_TO),
    ]
    async with database.connection() as db:
        assert await budget_store.read_counters(db, [wanted, *others]) == {wanted: FEE}
