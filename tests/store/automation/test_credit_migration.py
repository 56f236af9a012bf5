"""Runs that were bought before credit was an amount, migrated at the price that they cost."""

from hashlib import sha256
from typing import Final

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.stored_plan import StoredPlan
from farebox.storage.migrate import packaged_migrations
from farebox.storage.pool import Database
from support.automation import activate, draft_plan, read_plan
from support.journal_rows import ASSET, party

_NAME: Final = "credit_amounts.sql"
_FIRST: Final = 40
_DATA_STARTS: Final = "-- Quotes were made of runs"


async def test_runs_that_are_left_become_what_they_were_bought_at(database: Database) -> None:
    """An open plan with seven of ten runs, a finished one whose four came back, a gift of two."""
    plan = await activate(database)
    owner = plan.terms.owner
    ended = await activate(database, draft_plan(owner=owner))
    async with database.connection() as db:
        await db.execute(
            "UPDATE automation_proposals SET runs_consumed = 3 WHERE id = $1", plan.terms.id
        )
        await db.execute(
            "UPDATE automation_proposals SET status = 'cancelled', overdue_at = NULL WHERE id = $1",
            ended.terms.id,
        )
        for each, price in ((plan, 500), (ended, 90)):
            await _pay(database, each, price)
            for kind, runs in (("purchase", 10), ("consume", -10)):
                await _add(database, owner, kind, runs, each.terms.id)
        await _add(database, owner, "return", 4, ended.terms.id)
        await _add(database, owner, "grant", 2, None)
    await _migrate(database)
    credit = (await read_plan(database, plan)).counters.credit
    assert (credit.held, credit.run_fee, credit.asset) == (7 * 500, 1_234, ASSET)
    assert credit.setup_left is None, "its setup was not charged"
    async with database.connection() as db:
        rows = await db.fetch("SELECT kind, asset, amount FROM run_credits WHERE amount <> 0")
    assert [(row["kind"], row["asset"], int(row["amount"])) for row in rows] == [
        ("grant", ASSET, 6 * 90)
    ]
    gone = (await read_plan(database, ended)).counters.credit
    assert (gone.held, gone.run_fee) == (0, None)


def test_index_of_a_table_that_grows_is_built_while_others_write() -> None:
    """An index of a table that is there is alone in its step."""
    added = [step for step in packaged_migrations() if step.number >= _FIRST]
    indexing = [step for step in added if "automation_runs_of_budget" in step.sql]
    assert [step.is_concurrent for step in indexing] == [True]


async def test_plan_goes_on_at_what_its_mode_adds_to_the_fee_it_was_quoted(
    database: Database,
) -> None:
    """Else its first run after the upgrade costs more than its quote, and it pauses."""
    plans = [
        (await _with_run(database, AuthorityMode.SESSION, None), 121_234),
        (await _with_run(database, AuthorityMode.SESSION, 200_000), 200_000),
        (await _with_run(database, AuthorityMode.MANDATE, None), 4_936),
        (await _with_run(database, AuthorityMode.MANDATE, 30_000), 30_000),
        (await _with_run(database, AuthorityMode.OPEN, 30_000), 1_234),
    ]
    await _migrate(database)
    fees = [(await read_plan(database, plan)).counters.credit.run_fee for plan, _ in plans]
    assert fees == [expected for _, expected in plans]


async def _with_run(database: Database, mode: AuthorityMode, cost: int | None) -> StoredPlan:
    """A plan, of which a run has cost so much."""
    plan = await activate(database, draft_plan().but(mode=mode))
    await _pay(database, plan, 500)
    if cost is not None:
        async with database.connection() as db:
            await db.execute(
                """
                INSERT INTO automation_attempts (run_id, number, network, tx_hash, inner_hash,
                    source, source_sequence, max_time, fee_limit, simulated_ledger,
                    sent_after_ledger, budget_on, owner, outcome, fee_charged, finished_at)
                SELECT id, 1, network, $2, $2, 'G', 1, now(), 9, 1, 1, now(), owner, 'success', $3,
                    now()
                FROM automation_runs WHERE proposal_id = $1 AND run_index = 0
                """,
                plan.terms.id,
                sha256(plan.terms.id.encode()).digest(),
                cost,
            )
    return plan


async def _pay(database: Database, plan: StoredPlan, price: int) -> None:
    """A confirmed payment for ten runs, as a row of before."""
    async with database.connection() as db:
        await db.execute(
            """
            INSERT INTO automation_payments (id, proposal_id, quote_revision, runs, network,
                asset, amount, pay_to, payment_identifier, state, valid_until, per_run,
                fee_stroops, tx_hash)
            VALUES ($1, $2, 1, 10, $3, $4, $5, $6, $1, 'confirmed', now(), $7, 1234, $8)
            """,
            f"apay_{plan.terms.id}",
            plan.terms.id,
            plan.terms.network.value,
            ASSET,
            10 * price,
            party(1),
            price,
            bytes(32),
        )


async def _add(
    database: Database, owner: str, kind: str, runs: int, proposal_id: str | None
) -> None:
    async with database.connection() as db:
        await db.execute(
            "INSERT INTO run_credits (owner, network, kind, runs, proposal_id)"
            " VALUES ($1, 'stellar:testnet', $2, $3, $4)",
            owner,
            kind,
            runs,
            proposal_id,
        )


async def _migrate(database: Database) -> None:
    """Apply the statements about rows once more: the columns are there."""
    (step,) = (each for each in packaged_migrations() if each.name.endswith(_NAME))
    statements = step.sql[step.sql.index(_DATA_STARTS) :]
    async with database.transaction() as db:
        await db.execute(statements)
