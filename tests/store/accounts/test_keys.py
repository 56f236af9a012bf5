"""The rows of keys when several transactions want them at once."""

import asyncio
import hashlib
from datetime import timedelta
from pathlib import Path

import pytest

from farebox.accounts import credential_store, key_store
from farebox.accounts.api_key import KEPT_DEAD, KeyRevoked, KeyTerms
from farebox.accounts.key_line import MOST_ROTATIONS, REMEMBERED, RotatedTooOften
from farebox.accounts.manage_keys import KeyManagement
from farebox.kernel.caller import Caller, CallerKind, Grant, OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database

OWNER = OwnerId("user_1")
CALLER = Caller(OWNER, CallerKind.SESSION)
NOW = timedelta(0)
RUNBOOK = Path(__file__).parents[3] / "docs" / "operations.md"


async def issued(database: Database) -> tuple[str, bytes]:
    """The id and the digest of a new key."""
    terms = KeyTerms(new_id("name"), frozenset({Grant.WRAPPERS}), None)
    made = await KeyManagement(database).create(CALLER, terms, request_id="1")
    return made.key.id, hashlib.sha256(made.shown.reveal().encode()).digest()


async def test_a_key_is_retired_once_though_nobody_takes_turns(database: Database) -> None:
    """The statement itself decides: the owner's turn only bounds how many keys there are."""
    key_id, digest = await issued(database)

    async def retire(n: int) -> bool:
        async with database.transaction() as db:
            retired = await key_store.retire_key(
                db, OWNER, key_id, successor=f"key_{n}", overlap=NOW
            )
            await asyncio.sleep(0.01)
            return retired is not None

    assert sum(await asyncio.gather(*map(retire, range(8)))) == 1
    async with database.connection() as db:
        assert await credential_store.find_key(db, digest) is None


async def test_a_key_under_revocation_is_not_retired(database: Database) -> None:
    key_id, _ = await issued(database)
    async with database.transaction() as db:
        assert [key.id for key in await key_store.revoke_line(db, OWNER, key_id)] == [key_id]
        async with database.connection() as other:
            waiting = asyncio.create_task(
                key_store.retire_key(other, OWNER, key_id, successor="key_2", overlap=NOW)
            )
            await asyncio.sleep(0.05)
            assert not waiting.done()
            await db.execute("COMMIT")
            assert await waiting is None
            await db.execute("BEGIN")


async def live_keys(database: Database) -> int:
    async with database.connection() as db:
        return await key_store.count_live(db, OWNER)


async def test_a_revocation_waits_for_the_rotation_under_way(database: Database) -> None:
    """The successor is written after the old key is retired: until then nobody sees it."""
    key_id, _ = await issued(database)
    async with database.transaction() as db:
        await key_store.take_turn(db, OWNER)
        overlap = timedelta(days=1)
        await key_store.retire_key(db, OWNER, key_id, successor="key_2", overlap=overlap)
        waiting = asyncio.create_task(
            KeyManagement(database).revoke(CALLER, key_id, request_id="1")
        )
        await asyncio.sleep(0.05)
        assert not waiting.done()
        terms = KeyTerms("successor", frozenset(), None)
        await key_store.add_key(
            db, "key_2", OWNER, terms, prefix="fbx_live_0000", digest=b"2", kept=()
        )
    await waiting
    assert await live_keys(database) == 0


async def test_no_successor_is_left_of_a_key_that_is_rotated_while_it_is_revoked(
    database: Database,
) -> None:
    one, other = KeyManagement(database), KeyManagement(database)  # as on two replicas
    ended = []

    async def rotate(key_id: str) -> None:
        overlap = timedelta(days=1)
        try:
            while True:
                made = await one.rotate(CALLER, key_id, overlap=overlap, request_id="1")
                key_id = made.key.id
        except KeyRevoked:
            ended.append(key_id)

    for n in range(5):
        first, _ = await issued(database)
        rotating = asyncio.create_task(rotate(first))
        await asyncio.sleep(0.01 * n)
        await other.revoke(CALLER, first, request_id="2")
        await rotating
        assert await live_keys(database) == 0
    assert len(ended) == 5


async def _line(database: Database, length: int, *, ended_before: timedelta) -> list[str]:
    """Keys that were rotated one to the next; the last one works."""
    async with database.connection() as db:
        rows = await db.fetch(
            """
            INSERT INTO api_keys (id, owner, name, prefix, digest, grants, created_at, updated_at,
                                  revoked_at, replaced_by)
            SELECT 'key_' || lpad(n::text, 22, '0'), $1, 'robot', 'fbx_live_0000',
                   sha256(n::text::bytea), '{read}', moment, moment,
                   CASE WHEN n < $2 THEN moment END,
                   CASE WHEN n < $2 THEN 'key_' || lpad((n + 1)::text, 22, '0') END
            FROM generate_series(1, $2::int) AS n,
                 LATERAL (SELECT now() - $3::interval + n * interval '1 ms') AS at (moment)
            RETURNING id
            """,
            *(OWNER, length, ended_before),
        )
    return sorted(row["id"] for row in rows)


async def test_a_key_that_rotates_itself_often_does_not_make_its_beginning_forgotten(
    database: Database,
) -> None:
    line = await _line(database, KEPT_DEAD + 50, ended_before=timedelta(days=20))
    keys = KeyManagement(database)
    made = await keys.rotate(CALLER, line[-1], overlap=NOW, request_id="1")
    assert await live_keys(database) == 1
    await keys.revoke(CALLER, line[0], request_id="2")
    assert await live_keys(database) == 0
    async with database.connection() as db:
        told = await db.fetch("SELECT subject FROM audit_trail WHERE action = 'key.revoked'")
    assert [row["subject"] for row in told] == [made.key.id]
    await issued(database)
    async with database.connection() as db:
        count = await db.fetchval("SELECT count(*) FROM api_keys")
    assert count == KEPT_DEAD + 1, "of a line that has ended the newest are kept"


async def test_an_operator_revokes_a_line_with_the_statements_of_the_runbook(
    database: Database,
) -> None:
    key_id, _ = await issued(database)
    keys, overlap = KeyManagement(database), timedelta(days=1)
    made = await keys.rotate(CALLER, key_id, overlap=overlap, request_id="1")
    await keys.rotate(CALLER, made.key.id, overlap=overlap, request_id="1")
    await issued(database)
    assert await live_keys(database) == 4
    told = RUNBOOK.read_text().partition("has leaked")[2]
    statements = told.partition("```sql\n")[2].partition("```")[0]
    async with database.connection() as db:
        prefix = await db.fetchval("SELECT prefix FROM api_keys WHERE id = $1", key_id)
        await db.execute(statements.replace("fbx_live_Ab3x", prefix))
    assert await live_keys(database) == 1


async def test_what_is_remembered_of_a_line_is_bounded(database: Database) -> None:
    keys = KeyManagement(database)
    line = await _line(database, MOST_ROTATIONS + 1, ended_before=REMEMBERED / 2)
    with pytest.raises(RotatedTooOften):
        await keys.rotate(CALLER, line[-1], overlap=NOW, request_id="1")
    assert await live_keys(database) == 1
    async with database.connection() as db:
        words = "UPDATE api_keys SET updated_at = updated_at - $1::interval WHERE id <= $2"
        await db.execute(words, REMEMBERED, line[99])
    await keys.rotate(CALLER, line[-1], overlap=NOW, request_id="1")
    async with database.connection() as db:
        left = await db.fetchval("SELECT min(id) FROM api_keys")
    assert left == line[0], "those not remembered are kept as others are"


async def test_the_holder_is_found_with_what_the_key_may(database: Database) -> None:
    key_id, digest = await issued(database)
    async with database.connection() as db:
        found = await credential_store.find_key(db, digest)
        assert found is not None
        assert found.digest == digest
        caller = Caller(OWNER, CallerKind.KEY, frozenset({Grant.WRAPPERS}), key_id=key_id)
        assert found.caller == caller
        await db.execute("UPDATE api_keys SET grants = '{wrappers,unheard_of}'")
        again = await credential_store.find_key(db, digest)
        assert again is not None
        assert again.caller == caller


async def test_the_look_up_goes_by_the_index(database: Database) -> None:
    for table in ("api_keys", "sessions"):
        async with database.transaction() as db:
            await db.execute("SET LOCAL enable_seqscan = off")
            plan = await db.fetch(f"EXPLAIN SELECT FROM {table} WHERE digest = '\\x00'")
        assert f"{table}_digest_key" in "\n".join(row[0] for row in plan)


async def test_an_owner_who_waits_for_its_turn_holds_one_connection_of_a_replica(
    database: Database, postgres_url: Secret[str]
) -> None:
    """Somebody else's transaction holds the owner's turn, as on another replica."""
    terms = [KeyTerms(f"key {n}", frozenset(), None) for n in range(8)]
    async with Database(postgres_url, connections=2, wait_s=1) as small:
        keys = KeyManagement(small)
        async with database.transaction() as db:
            await key_store.take_turn(db, OWNER)
            waiting = [
                asyncio.create_task(keys.create(CALLER, each, request_id="1")) for each in terms
            ]
            await asyncio.sleep(0.05)
            await asyncio.wait_for(small.ping(), 1)
            stranger = Caller(OwnerId("user_2"), CallerKind.SESSION)
            made = await keys.create(stranger, terms[0], request_id="1")
            assert made.key.owner == "user_2"
            assert not any(each.done() for each in waiting)
        await asyncio.gather(*waiting)
