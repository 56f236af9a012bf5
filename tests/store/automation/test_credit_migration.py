"""Runs that were bought before credit was an amount, migrated at the price that they cost."""

from typing import Final

from farebox.storage.migrate import packaged_migrations
from farebox.storage.pool import Database
from support.automation import activate, draft_plan, read_plan
from support.journal_rows import ASSET, party

_NAME: Final = "credit_amounts.sql"
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
        for number, (each, price) in enumerate(((plan, 500), (ended, 90))):
            await db.execute(
                """
                INSERT INTO automation_payments (id, proposal_id, quote_revision, runs, network,
                    asset, amount, pay_to, payment_identifier, state, valid_until, per_run,
                    fee_stroops, tx_hash)
                VALUES ($1, $2, 1, 10, $3, $4, $5, $6, $1, 'confirmed', now(), $7, 1234, $8)
                """,
                f"apay_{number}",
                each.terms.id,
                plan.terms.network.value,
                ASSET,
                10 * price,
                party(1),
                price,
                bytes(32),
            )
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
