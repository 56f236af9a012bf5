"""The sponsor budget judges from counters that it read about a second ago."""

from dataclasses import replace
from typing import Final

from farebox.facilitator.budgets import budget_store
from farebox.facilitator.budgets.budget import Budgets
from farebox.facilitator.budgets.sponsor_budget import SponsorBudget
from farebox.facilitator.journal.journal import SettlementJournal
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.storage.pool import Database
from farebox.x402.payment import PaymentTerms
from farebox.x402.reasons import Reason
from support.budgets import FAILED, FEE, TODAY, envelope, record_payment
from support.claims import ASSET, NET, PAY_TO, PAYER_1
from support.manual_clock import START, ManualClock


async def test_judge_refuses_what_the_journal_would_refuse(database: Database) -> None:
    budgets = Budgets(payer=Stroops(FEE + 10), payer_loss=Stroops(FEE + 1))
    clock = ManualClock()
    journal = SettlementJournal(database, clock, {NET: budgets})
    sponsor = SponsorBudget(NET, budgets, database, clock, highest_fee=Stroops(500_000))
    terms = PaymentTerms(NET, ASSET, BaseUnits(1), PAY_TO, 60)
    await record_payment(journal, 1)
    assert sponsor.judge(terms, PAYER_1, stroops=11) is None, "not looked yet"
    await sponsor.refresh()
    assert sponsor.judge(terms, PAYER_1, stroops=10) is None
    assert sponsor.judge(terms, PAYER_1, stroops=11) is Reason.SPONSOR_BUDGET_EXHAUSTED
    assert sponsor.judge(terms, PAY_TO, stroops=11) is None, "another payer"
    await journal.record_final(envelope(1).tx_hash, replace(FAILED, fee_charged=FEE + 1))
    await sponsor.refresh()
    assert sponsor.judge(terms, PAYER_1, stroops=0) is Reason.PAYER_STOPPED
    clock.turn(24 * 3600)
    assert sponsor.judge(terms, PAYER_1, stroops=1) is None
    sponsor.balance_is_low = True
    assert sponsor.judge(terms, PAYER_1, stroops=0) is Reason.SPONSOR_BALANCE_LOW
    async with database.connection() as db:
        await budget_store.stop_network(db, NET, at=START)
    await sponsor.refresh()
    assert sponsor.judge(terms, PAYER_1, stroops=0) is Reason.SPONSOR_STOPPED


async def test_refresh_reads_the_level_index_with_many_payers(
    database: Database,
) -> None:
    sponsor = SponsorBudget(
        NET, Budgets(payer=Stroops(2 * FEE)), database, ManualClock(), highest_fee=Stroops(FEE)
    )
    async with database.connection() as db:
        await db.execute(_PAYERS, NET.value, TODAY, FEE // 2)
        await db.execute("ANALYZE sponsor_spend")
        plan = "\n".join(
            row[0]
            for row in await db.fetch(
                """
                EXPLAIN (ANALYZE, COSTS off, TIMING off)
                SELECT name FROM sponsor_spend own
                WHERE network = 'stellar:testnet' AND day = '2026-11-21' AND scope = 'payer'
                  AND level >= floor(ln(30000::float8) * 8)::smallint AND stroops >= 30000
                ORDER BY level DESC LIMIT 1000
                """
            )
        )
    assert "sponsor_spend_level" in plan
    assert "Rows Removed" not in plan
    await sponsor.refresh()
    terms = PaymentTerms(NET, ASSET, BaseUnits(1), PAY_TO, 60)
    assert sponsor.judge(terms, PAYER_1, stroops=FEE) is None


_PAYERS: Final = """
    INSERT INTO sponsor_spend (network, day, scope, name, stroops)
    SELECT $1, $2, 'payer', 'payer ' || n, $3::bigint FROM generate_series(1, 5000) AS n
"""
