"""Cases 6.3 of versions: a process of the previous version on a newer schema."""

import asyncio
import re
from typing import Final

import asyncpg

from farebox.facilitator.journal.journal import SettlementJournal
from farebox.facilitator.settlement import FinalStatus, SettlementState
from farebox.kernel.clock import SystemClock
from farebox.kernel.secret import Secret
from farebox.storage.migrate import migrate, packaged_migrations
from farebox.storage.pool import Database
from support.promises import case

# What a process of the version before this schema says to it: it knows none of the new columns.
_OLD_CLAIM: Final = """
    INSERT INTO settlements (network, payer, nonce, claim_id, request_digest, claimed_at,
                             asset, amount, pay_to, expires_at_ledger)
    VALUES ('stellar:testnet', 'P', $1, gen_random_uuid(), sha256('r'), now(), 'A', 7, 'S', 900)
    ON CONFLICT (network, payer, nonce) DO NOTHING
    RETURNING true
"""


_OLD_SENDING: Final = """
    UPDATE settlements
    SET state = 'sending', tx_hash = $2, envelope = 'e', source = $3, source_sequence = 8,
        max_time = now(), fee_limit = 10, sent_after_ledger = 11, inner_hash = NULL
    WHERE network = 'stellar:testnet' AND payer = 'P' AND nonce = $1 AND state = 'claimed'
    RETURNING true
"""


_OLD_SUBMITTED: Final = """
    UPDATE settlements SET state = 'submitted' WHERE tx_hash = $1 AND state = 'sending'
    RETURNING true
"""


_OLD_END: Final = """
    UPDATE settlements
    SET state = 'confirmed', reason = NULL, detail = 'd', ledger = 12, fee_charged = 9,
        finished_at = now()
    WHERE tx_hash = $1 AND state IN ('sending', 'submitted')
    RETURNING true
"""


_OLD_SUCCESS: Final = """
    UPDATE settlements SET answered_at = now()
    WHERE tx_hash = $1 AND state = 'confirmed' AND answered_at IS NULL
    RETURNING true
"""


_OLD_SCHEMA: Final = 2  # the last step such a process knows


@case("RL-043")
async def test_previous_version_works_during_and_after_migration(
    empty_database_url: Secret[str],
) -> None:
    steps = packaged_migrations()
    await migrate(empty_database_url, steps[:_OLD_SCHEMA])
    old = await asyncpg.connect(empty_database_url.reveal())
    try:
        first, second = b"1" * 32, b"2" * 32
        assert await old.fetchval(_OLD_CLAIM, 1)
        assert await old.fetchval(_OLD_SENDING, 1, first, "C1")
        applied = await asyncio.gather(*(migrate(empty_database_url, steps) for _ in range(2)))
        assert sorted(len(each) for each in applied) == [0, len(steps) - _OLD_SCHEMA]
        assert await old.fetchval(_OLD_SUBMITTED, first)
        assert await old.fetchval(_OLD_END, first)
        assert await old.fetchval(_OLD_SUCCESS, first)
        assert await old.fetchval(_OLD_CLAIM, 2)
        assert await old.fetchval(_OLD_SENDING, 2, second, "C2")
        async with Database(empty_database_url) as database:
            journal = SettlementJournal(database, SystemClock())
            rows = [await journal.find_by_hash(each) for each in (first, second)]
            assert [row.state if row else None for row in rows] == ["confirmed", "sending"]
            ending = FinalStatus(SettlementState.CONFIRMED, ledger=13, fee_charged=8)
            assert await journal.record_final(second, ending)
        assert await old.fetchval(_OLD_SUCCESS, second)
    finally:
        await old.close()


@case("RL-043")
def test_migrations_remove_nothing_from_a_running_process() -> None:
    for step in packaged_migrations():
        statements = re.sub(r"--[^\n]*", "", step.sql).upper()
        harmless = r"\$\$.*?\$\$|AFTER TRUNCATE|ON COMMIT DROP"
        statements = re.sub(harmless, "", statements, flags=re.DOTALL)
        taken = re.findall(
            r"\b(DROP(?! CONSTRAINT)|RENAME|TRUNCATE|SET NOT NULL|DELETE FROM"
            r"|ALTER COLUMN \w+ (?:SET DATA )?TYPE)\b",
            statements,
        )
        assert taken == [], step.name
        for column in re.findall(r"ADD COLUMN ([^,;]+)", statements):
            assert "NOT NULL" not in column or "DEFAULT" in column, (step.name, column)
        if not step.is_concurrent:  # whose lock blocks no reads and writes
            assert "SET LOCAL LOCK_TIMEOUT" in statements, "a step never waits long for a lock"
