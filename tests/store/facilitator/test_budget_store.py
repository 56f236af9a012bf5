"""The counters of the sponsor budgets: reserved, released and refused on a real database."""

import asyncio
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

import pytest

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import BudgetRefusal, Budgets, BudgetScope, Counter
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import FinalStatus, Recording
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import Stroops
from farebox.kernel.caller import Caller, CallerKind, OwnerId, budget_owner
from farebox.kernel.networks import Network
from farebox.storage.pool import Database
from support.budgets import (
    CHARGED,
    CONFIRMED,
    DEAD,
    FAILED,
    FEE,
    TODAY,
    UNPROVEN,
    envelope,
    read_counters,
    record_payment,
)
from support.claims import ASSET, NET, PAY_TO, PAYER_1, claim
from support.manual_clock import ManualClock

SPENT: Final = ("total", "payer", "pay_to", "key", "other_assets")
HELD: Final = (*SPENT, "payer_loss")


async def test_budget_reserves_the_highest_fee_and_keeps_the_charged_one(
    database: Database,
) -> None:
    journal = SettlementJournal(database, ManualClock())
    assert await read_counters(database) == {}
    assert await record_payment(journal, 1) is Recording.WRITTEN
    assert await read_counters(database) == dict.fromkeys(HELD, FEE)
    await journal.record_submitted(envelope(1).tx_hash)
    assert await read_counters(database) == dict.fromkeys(HELD, FEE)
    assert await journal.record_final(envelope(1).tx_hash, CONFIRMED)
    assert not await journal.record_final(envelope(1).tx_hash, DEAD), "given back once"
    assert await read_counters(database) == dict.fromkeys(SPENT, CHARGED)
    async with database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM sponsor_spend WHERE stroops = 0") == 0


@pytest.mark.parametrize(
    ("ending", "kept", "lost"),
    [
        (CONFIRMED, CHARGED, 0),
        (replace(CONFIRMED, has_extra_movement=True), CHARGED, CHARGED),
        (FAILED, CHARGED, CHARGED),
        (DEAD, 0, 0),
        (UNPROVEN, FEE, 0),
    ],
)
async def test_budget_keeps_the_cost_of_each_final_status(
    database: Database, ending: FinalStatus, kept: int, lost: int
) -> None:
    journal = SettlementJournal(database, ManualClock())
    await record_payment(journal, 1)
    ends = await asyncio.gather(
        *(journal.record_final(envelope(1).tx_hash, ending) for _ in range(20))
    )
    assert ends.count(True) == 1
    stands = await read_counters(database)
    assert (stands.get("total", 0), stands.get("payer_loss", 0)) == (kept, lost)


async def test_withdraw_releases_the_reservation_once(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock())
    await record_payment(journal, 1)
    row = await journal.find(claim(1).identity)
    assert row is not None
    tx_hash = envelope(1).tx_hash
    withdrawn = await asyncio.gather(
        *(journal.withdraw(row.identity, tx_hash, claim_id=row.claim_id) for _ in range(10))
    )
    assert withdrawn.count(True) == 1
    assert await read_counters(database) == {}


async def test_replace_changes_the_reservation(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock(), {NET: Budgets(payer=Stroops(2 * FEE))})
    mine = claim(1)
    await journal.claim(mine)
    await journal.record_sending(mine, envelope(1))
    dearer, too_dear = envelope(2, fee=2 * FEE), envelope(3, fee=2 * FEE + 1)
    first = envelope(1)
    refusal = await journal.replace(mine, too_dear.in_place_of(first))
    assert refusal == BudgetRefusal(BudgetScope.PAYER)
    assert (await read_counters(database))["payer"] == FEE
    assert await journal.replace(mine, dearer.in_place_of(first)) is Recording.WRITTEN
    assert (await read_counters(database))["payer"] == 2 * FEE
    assert await journal.replace(mine, dearer.in_place_of(first)) is Recording.CLAIM_LOST
    cheaper = envelope(4, fee=1).in_place_of(dearer.in_place_of(first))
    assert await journal.replace(mine, cheaper) is Recording.WRITTEN
    assert (await read_counters(database))["payer"] == 1
    assert await journal.record_final(cheaper.tx_hash, DEAD)
    assert await read_counters(database) == {}


async def test_reservation_is_released_on_the_day_it_was_made(database: Database) -> None:
    clock = ManualClock()
    clock.turn(24 * 3600 - 1)  # the last second of the day
    budgets = Budgets(payer=Stroops(FEE))
    journal = SettlementJournal(database, clock, {NET: budgets})
    await record_payment(journal, 1)
    assert await record_payment(journal, 2) == BudgetRefusal(BudgetScope.PAYER)
    clock.turn(2)
    tomorrow = date(2026, 11, 22)
    assert await record_payment(journal, 3) is Recording.WRITTEN, "a new day"
    await journal.record_final(envelope(1).tx_hash, CONFIRMED)
    assert (await read_counters(database))["total"] == CHARGED
    assert (await read_counters(database, tomorrow))["total"] == FEE
    mine = claim(3)
    dearer = envelope(4, fee=FEE + 1)
    clock.turn(24 * 3600)
    refusal = await journal.replace(mine, dearer.in_place_of(envelope(3)))
    assert refusal == BudgetRefusal(BudgetScope.PAYER), "the day the row counts on"


async def test_payer_is_refused_for_the_day_after_its_loss_limit(
    database: Database,
) -> None:
    clock = ManualClock()
    budgets = Budgets(payer_loss=Stroops(2 * CHARGED))
    journal = SettlementJournal(database, clock, {NET: budgets})
    for nonce in (1, 2):
        assert await record_payment(journal, nonce) is Recording.WRITTEN
        await journal.record_final(envelope(nonce).tx_hash, FAILED)
    assert await record_payment(journal, 3) == BudgetRefusal(BudgetScope.PAYER_LOSS)
    assert await record_payment(journal, 4, payer=2) is Recording.WRITTEN, "others go on"
    clock.turn(24 * 3600)
    assert await record_payment(journal, 5) is Recording.WRITTEN


async def test_settlement_without_reservation_changes_no_counter(
    database: Database,
) -> None:
    journal = SettlementJournal(database, ManualClock())
    await record_payment(journal, 1)
    async with database.transaction() as db:
        await db.execute("UPDATE settlements SET fee_held = 0, fee_lost = 0, budget_on = NULL")
        await db.execute("DELETE FROM sponsor_spend")
    assert await journal.record_final(envelope(1).tx_hash, FAILED)
    assert await read_counters(database) == {}


async def test_settlement_of_an_older_version_changes_the_counters_it_reserved(
    database: Database,
) -> None:
    """The older version wrote neither the budget's owner nor the amount at risk."""
    journal = SettlementJournal(database, ManualClock())
    mine, other = replace(claim(1), caller=OwnerId("user_1")), claim(2)
    for each, tag in ((mine, 1), (other, 2)):
        await journal.claim(each)
        await journal.record_sending(each, envelope(tag))
    async with database.transaction() as db:
        await db.execute("UPDATE settlements SET fee_lost = 0, budget_owner = NULL")
        await db.execute("DELETE FROM sponsor_spend WHERE scope IN ('key', 'payer_loss')")
        await db.execute(
            "INSERT INTO sponsor_spend (network, day, scope, name, stroops)"
            " VALUES ($1, $2, 'key', 'user_1', $3)",
            NET.value,
            TODAY,
            FEE,
        )
        assert await budget_store.find_drift(db) == []
    replaced = await journal.replace(mine, envelope(3, fee=2 * FEE).in_place_of(envelope(1)))
    assert replaced is Recording.WRITTEN
    assert (await read_counters(database))["payer_loss"] == 2 * FEE
    for tag in (2, 3):
        assert await journal.record_final(envelope(tag).tx_hash, FAILED)
    assert await read_counters(database) == dict.fromkeys(
        ("total", "payer", "pay_to"), 2 * CHARGED
    ) | {
        "key": CHARGED,
        "other_assets": 2 * CHARGED,
        "payer_loss": 2 * CHARGED,
    }


@pytest.mark.parametrize(("named", "least"), [(frozenset({ASSET}), 20), (frozenset[Address](), 2)])
async def test_named_asset_uses_the_total_budget_and_others_a_tenth_of_it(
    database: Database, named: frozenset[Address], least: int
) -> None:
    budgets = Budgets(total=Stroops(20 * FEE), named_assets=named)
    journal = SettlementJournal(database, ManualClock(), {NET: budgets})
    recorded = [await record_payment(journal, nonce) for nonce in range(21)]
    assert recorded.count(Recording.WRITTEN) == least
    assert recorded[-1] == BudgetRefusal(BudgetScope.TOTAL if named else BudgetScope.OTHER_ASSETS)


@pytest.mark.parametrize("is_established", [False, True])
async def test_callers_without_an_established_account_share_one_budget(
    database: Database, *, is_established: bool
) -> None:
    """Otherwise ten free identities would have ten budgets."""
    budgets = Budgets(key=Stroops(2 * FEE))
    journal = SettlementJournal(database, ManualClock(), {NET: budgets})

    async def asked_by(
        owner: str, nonce: int, *, is_established: bool
    ) -> Recording | BudgetRefusal:
        caller = Caller(OwnerId(owner), CallerKind.KEY, is_established=is_established)
        mine = replace(claim(nonce), caller=caller.owner, budget_owner=budget_owner(caller))
        await journal.claim(mine)
        return await journal.record_sending(mine, envelope(nonce))

    recorded = [
        await asked_by(f"user_{n % 10}", n, is_established=is_established) for n in range(20)
    ]
    refused = recorded.count(BudgetRefusal(BudgetScope.KEY))
    assert refused == (0 if is_established else 18)
    assert await record_payment(journal, 98) == (
        Recording.WRITTEN if is_established else BudgetRefusal(BudgetScope.KEY)
    ), "one without credentials"
    assert await asked_by("user_99", 99, is_established=True) is Recording.WRITTEN
    await read_counters(database)


async def test_find_drift_returns_a_changed_counter(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock())
    await record_payment(journal, 1)
    async with database.connection() as db:
        await db.execute("UPDATE sponsor_spend SET stroops = stroops - 1 WHERE scope = 'payer'")
        (drift,) = await budget_store.find_drift(db)
    assert (drift.scope, drift.name) == ("payer", PAYER_1)
    assert (drift.counted, drift.summed) == (FEE - 1, FEE)


async def test_read_counters_near_returns_the_counters_at_or_above_the_bound(
    database: Database,
) -> None:
    for least in (1, 2, 9, 1_000, 19_500_000, 20_000_000, 10**12, 2**62):
        await _compare_with_the_counters_near(database, least)


async def _compare_with_the_counters_near(database: Database, least: int) -> None:
    around = {max(0, least + step) for step in (-1, 0, 1, -least // 2, -least // 9, least // 9)}
    async with database.connection() as db:
        await db.execute("DELETE FROM sponsor_spend")
        for scope in (BudgetScope.PAYER, BudgetScope.PAY_TO):
            rows = [
                (NET.value, TODAY, scope.value, f"{stroops} {twin}", stroops)
                for stroops in around
                for twin in range(3)
            ]
            columns = ("network", "day", "scope", "name", "stroops")
            await db.copy_records_to_table("sponsor_spend", records=rows, columns=columns)
        bounds = {BudgetScope.PAYER: least, BudgetScope.PAY_TO: 2**63 - 1, BudgetScope.KEY: 1}
        found = await budget_store.read_counters_near(db, NET, TODAY, bounds, each=100)
        few = await budget_store.read_counters_near(db, NET, TODAY, bounds, each=2)
    assert {counter.scope for counter in found} == {BudgetScope.PAYER}
    assert sorted(found.values()) == sorted(3 * [each for each in around if each >= least])
    assert len(few) == 2
    assert set(few) <= set(found)


async def test_read_counters_matches_network_day_scope_and_name(database: Database) -> None:
    journal = SettlementJournal(database, ManualClock())
    await record_payment(journal, 1)
    wanted = Counter(NET, TODAY, BudgetScope.PAYER, PAYER_1)
    others = [
        replace(wanted, network=Network.PUBNET),
        replace(wanted, day=TODAY + timedelta(days=1)),
        replace(wanted, name=PAY_TO),
    ]
    async with database.connection() as db:
        assert await budget_store.read_counters(db, [wanted, *others]) == {wanted: FEE}
