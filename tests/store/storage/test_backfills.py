"""Migrations fill new columns from the rows of earlier versions."""

import asyncio

from farebox.kernel.secret import Secret
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Database
from support.waiting import until


async def test_migration_marks_only_contract_accounts_of_earlier_sign_ins_as_on_ledger(
    empty_database_url: Secret[str],
) -> None:
    steps = packaged_migrations()
    first = next(step.number for step in steps if step.name.endswith("_established_callers.sql"))
    await migrate(empty_database_url, steps[: first - 1])
    async with (
        Database(empty_database_url, connections=1) as database,
        database.connection() as db,
    ):
        await db.execute(
            "INSERT INTO users (id, network, address)"
            " SELECT address, 'stellar:testnet', address"
            " FROM unnest('{GACCOUNT,CONTRACT}'::text[]) address"
        )
    await migrate(empty_database_url, steps)
    async with (
        Database(empty_database_url, connections=1) as database,
        database.connection() as db,
    ):
        rows = await db.fetch("SELECT address, was_on_ledger FROM users")
    assert dict(map(tuple, rows)) == {"GACCOUNT": False, "CONTRACT": True}


async def test_migration_assigns_lines_to_keys_rotated_before_lines_existed(
    empty_database_url: Secret[str],
) -> None:
    steps = packaged_migrations()
    lines = next(step.number for step in steps if step.name.endswith("_key_lines.sql"))
    await migrate(empty_database_url, steps[: lines - 1])
    rows = [("a", "b"), ("b", "c"), ("c", None), ("d", None), ("e", "gone"), ("f", "a of another")]
    async with Database(empty_database_url, connections=1) as database:
        async with database.connection() as db:
            await db.executemany(
                """
                INSERT INTO api_keys (id, owner, name, prefix, digest, grants, replaced_by)
                VALUES ($1, 'user_1', 'robot', 'fbx', sha256($1::text::bytea), '{}', $2)
                """,
                rows,
            )
        await migrate(empty_database_url, steps)
        async with database.connection() as db:
            found = await db.fetch("SELECT id, line FROM api_keys ORDER BY id")
    assert [(row["id"], row["line"]) for row in found] == [
        *(("a", "a"), ("b", "a"), ("c", "a")),
        *(("d", "d"), ("e", "e"), ("f", "f")),
    ]


async def test_migration_makes_an_epoch_of_the_holders_that_were_counted_as_attempts(
    empty_database_url: Secret[str],
) -> None:
    steps = packaged_migrations()
    fences = next(step.number for step in steps if step.name.endswith("_payment_fences.sql"))
    await migrate(empty_database_url, [step for step in steps if step.number < fences])
    async with Database(empty_database_url, connections=1) as database:
        async with database.connection() as db:
            await db.executemany(
                """
                INSERT INTO gateway_payments (network, payer, nonce, wrapper_id, owner, slug,
                    binding, request_digest, method, path, asset, amount, pay_to, state, minute,
                    month, attempts, tx_hash, paid_at)
                SELECT 'stellar:testnet', 'G', $1, 'w', 'o', 's', sha256('b'), sha256('d'), 'GET',
                    '', 'C', 1, 'G', $2, now(), now(), 3, hash, paid_at
                FROM (SELECT CASE WHEN $2 <> 'reserved' THEN sha256('t') END AS hash,
                             CASE WHEN $2 <> 'reserved' THEN now() END AS paid_at) AS landed
                """,
                [(1, "reserved"), (2, "paid"), (3, "delivered")],
            )
        await migrate(empty_database_url, steps)
        async with database.connection() as db:
            rows = await db.fetch("SELECT state, epoch, attempts FROM gateway_payments")
    assert {tuple(row) for row in rows} == {
        ("reserved", 3, 3), ("paid", 3, 3), ("delivered", 0, 3),
    }  # fmt: skip


async def test_migration_of_the_gateway_waits_for_a_landing_without_a_deadlock(
    empty_database_url: Secret[str],
) -> None:
    """A landing locks its settlement, then its payment.

    Control: a migration that changes `gateway_payments` first makes the landing wait for it.
    """
    steps = packaged_migrations()
    fences = next(step.number for step in steps if step.name.endswith("_payment_fences.sql"))
    await migrate(empty_database_url, [step for step in steps if step.number < fences])
    async with Database(empty_database_url, connections=2) as database:
        async with database.transaction() as landing:
            await landing.execute("UPDATE settlements SET answered_at = NULL")
            migrating = asyncio.create_task(migrate(empty_database_url, steps))

            async def waits() -> bool:
                async with database.connection() as db:
                    return bool(await db.fetchval("SELECT true FROM pg_locks WHERE NOT granted"))

            await until(waits)
            await landing.execute("UPDATE gateway_payments SET attempt_until = NULL")
        await migrating
