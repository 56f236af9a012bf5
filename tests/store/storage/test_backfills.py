"""Migrations fill new columns from the rows of earlier versions."""

import asyncio
from collections.abc import Sequence
from typing import Final

from farebox.kernel.secret import Secret
from farebox.storage.migrate import Migration, migrate, packaged_migrations
from farebox.storage.pool import Database
from testing.waiting import until


def before(name: str) -> list[Migration]:
    """The steps before the one of this name."""
    steps = packaged_migrations()
    first = next(step.number for step in steps if step.name.endswith(name))
    return [step for step in steps if step.number < first]


async def test_migration_fills_new_columns_from_the_rows_of_earlier_versions(
    empty_database_url: Secret[str],
) -> None:
    """Only contract accounts are marked as on the ledger; keys that were rotated before lines
    existed have one; holders that were counted as attempts make an epoch.
    """
    keys = [("a", "b"), ("b", "c"), ("c", None), ("d", None), ("e", "gone"), ("f", "a of another")]
    filling: list[tuple[str, str, Sequence[tuple[object, ...]]]] = [
        ("_key_lines.sql", _KEYS, keys),
        ("_established_callers.sql", _USERS, [("GACCOUNT",), ("CONTRACT",)]),
        ("_payment_fences.sql", _PAYMENTS, [(1, "reserved"), (2, "paid"), (3, "delivered")]),
    ]
    async with Database(empty_database_url, connections=1) as database:
        for name, statement, rows in sorted(filling, key=lambda each: len(before(each[0]))):
            await migrate(empty_database_url, before(name))
            async with database.connection() as db:
                await db.executemany(statement, rows)
        await migrate(empty_database_url, packaged_migrations())
        async with database.connection() as db:
            users = await db.fetch("SELECT address, was_on_ledger FROM users")
            lines = await db.fetch("SELECT id, line FROM api_keys")
            payments = await db.fetch("SELECT state, epoch, attempts FROM gateway_payments")
    assert dict(map(tuple, users)) == {"GACCOUNT": False, "CONTRACT": True}
    assert dict(map(tuple, lines)) == {"a": "a", "b": "a", "c": "a", "d": "d", "e": "e", "f": "f"}
    assert {tuple(row) for row in payments} == {
        ("reserved", 3, 3), ("paid", 3, 3), ("delivered", 0, 3),
    }  # fmt: skip


_USERS: Final = "INSERT INTO users (id, network, address) VALUES ($1, 'stellar:testnet', $1)"
_KEYS: Final = """
    INSERT INTO api_keys (id, owner, name, prefix, digest, grants, replaced_by)
    VALUES ($1, 'user_1', 'robot', 'fbx', sha256($1::text::bytea), '{}', $2)
"""
_PAYMENTS: Final = """
    INSERT INTO gateway_payments (network, payer, nonce, wrapper_id, owner, slug, binding,
        request_digest, method, path, asset, amount, pay_to, state, minute, month, attempts,
        tx_hash, paid_at)
    SELECT 'stellar:testnet', 'G', $1, 'w', 'o', 's', sha256('b'), sha256('d'), 'GET', '', 'C', 1,
        'G', $2, now(), now(), 3, hash, paid_at
    FROM (SELECT CASE WHEN $2 <> 'reserved' THEN sha256('t') END AS hash,
                 CASE WHEN $2 <> 'reserved' THEN now() END AS paid_at) AS landed
"""


async def test_migration_of_the_gateway_waits_for_a_landing_without_a_deadlock(
    empty_database_url: Secret[str],
) -> None:
    """A landing locks its settlement, then its payment.

    Control: a migration that changes `gateway_payments` first makes the landing wait for it.
    """
    steps = packaged_migrations()
    await migrate(empty_database_url, before("_payment_fences.sql"))
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
