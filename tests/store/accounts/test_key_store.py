"""API keys as rows: rotated and revoked by concurrent transactions."""

import asyncio
import hashlib
from datetime import timedelta
from pathlib import Path

import pytest

from farebox.accounts import credential_store, key_store
from farebox.accounts.api_key import (
    MAX_INVALID,
    MAX_ROTATIONS,
    ROTATION_WINDOW,
    KeyRevoked,
    KeyTerms,
    TooManyRotations,
)
from farebox.accounts.key_store import NewKey
from farebox.accounts.manage_keys import KeyManagement
from farebox.kernel.caller import Caller, CallerKind, Grant, OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.faulty_database import ping
from support.unlimited import Unlimited
from testing.waiting import WITHIN_S, until_lock_is_waited_for

OWNER = OwnerId("user_1")
CALLER = Caller(OWNER, CallerKind.SESSION)
NOW = timedelta(0)
RUNBOOK = Path(__file__).parents[3] / "docs" / "operations.md"


async def issued(database: Database) -> tuple[str, bytes]:
    """The id and the digest of a new key."""
    terms = KeyTerms(new_id("name"), frozenset({Grant.WRAPPERS}), None)
    made = await KeyManagement(database, Unlimited()).create(CALLER, terms, request_id="1")
    return made.key.id, hashlib.sha256(made.value.reveal().encode()).digest()


async def test_retire_key_succeeds_once_without_the_owner_lock(database: Database) -> None:
    """The statement itself decides: the owner's lock only limits how many keys there are."""
    key_id, digest = await issued(database)

    async def retire(n: int) -> bool:
        async with database.transaction() as db:
            retired = await key_store.retire_key(
                db, OWNER, key_id, successor=f"key_{n}", overlap=NOW
            )
            await asyncio.sleep(0.01)  # the others try meanwhile
            return retired is not None

    assert sum(await asyncio.gather(*map(retire, range(8)))) == 1
    async with database.connection() as db:
        assert await credential_store.find_key(db, digest) is None


async def test_retire_key_fails_while_the_key_is_being_revoked(database: Database) -> None:
    key_id, _ = await issued(database)
    async with database.transaction() as db:
        assert [key.id for key in await key_store.revoke_chain(db, OWNER, key_id)] == [key_id]
        async with database.connection() as other:
            waiting = asyncio.create_task(
                key_store.retire_key(other, OWNER, key_id, successor="key_2", overlap=NOW)
            )
            await until_lock_is_waited_for(database)
            assert not waiting.done()
            await db.execute("COMMIT")
            assert await waiting is None
            await db.execute("BEGIN")


async def live_keys(database: Database) -> int:
    async with database.connection() as db:
        return await key_store.count_live(db, OWNER)


async def test_revoke_waits_for_a_rotation_in_progress(database: Database) -> None:
    """The successor is written after the old key is retired, in the same transaction."""
    key_id, _ = await issued(database)
    async with database.transaction() as db:
        await key_store.lock_owner(db, OWNER)
        overlap = timedelta(days=1)
        await key_store.retire_key(db, OWNER, key_id, successor="key_2", overlap=overlap)
        waiting = asyncio.create_task(
            KeyManagement(database, Unlimited()).revoke(CALLER, key_id, request_id="1")
        )
        await until_lock_is_waited_for(database)
        assert not waiting.done()
        terms = KeyTerms("successor", frozenset(), None)
        new = NewKey("key_2", OWNER, terms, "fbx_live_0000", b"2", key_id, client=None)
        await key_store.add_key(db, new)
    await waiting
    assert await live_keys(database) == 0


async def test_revoke_leaves_no_successor_of_a_key_rotated_concurrently(
    database: Database,
) -> None:
    one, other = (
        KeyManagement(database, Unlimited()),
        KeyManagement(database, Unlimited()),
    )  # as on two replicas
    ended = []

    async def rotate(key_id: str, rotated: asyncio.Queue[str]) -> None:
        overlap = timedelta(days=1)
        try:
            while True:
                made = await one.rotate(CALLER, key_id, overlap=overlap, request_id="1")
                key_id = made.key.id
                rotated.put_nowait(key_id)
        except KeyRevoked:
            ended.append(key_id)

    for n in range(5):
        first, _ = await issued(database)
        rotated = asyncio.Queue[str]()
        rotating = asyncio.create_task(rotate(first, rotated))
        for _ in range(n):  # another number of rotations each time; an owner has 50 keys at most
            await rotated.get()
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
                                  revoked_at, replaced_by, line)
            SELECT 'key_' || lpad(n::text, 22, '0'), $1, 'robot', 'fbx_live_0000',
                   sha256(n::text::bytea), '{read}', moment, moment,
                   CASE WHEN n < $2 THEN moment END,
                   CASE WHEN n < $2 THEN 'key_' || lpad((n + 1)::text, 22, '0') END,
                   'key_' || lpad('1', 22, '0')
            FROM generate_series(1, $2::int) AS n,
                 LATERAL (SELECT now() - $3::interval + n * interval '1 ms') AS at (moment)
            RETURNING id
            """,
            *(OWNER, length, ended_before),
        )
    return sorted(row["id"] for row in rows)


async def test_revoke_finds_the_newest_key_from_the_first_after_many_rotations(
    database: Database,
) -> None:
    line = await _line(database, MAX_INVALID + 50, ended_before=timedelta(days=20))
    keys = KeyManagement(database, Unlimited())
    made = await keys.rotate(CALLER, line[-1], overlap=NOW, request_id="1")
    assert await live_keys(database) == 1
    await keys.revoke(CALLER, line[0], request_id="2")
    assert await live_keys(database) == 0
    async with database.connection() as db:
        revoked = await db.fetch("SELECT subject FROM audit_trail WHERE action = 'key.revoked'")
    assert [row["subject"] for row in revoked] == [made.key.id]
    await issued(database)
    async with database.connection() as db:
        count = await db.fetchval("SELECT count(*) FROM api_keys")
    assert count == MAX_INVALID + 1, "the newest keys of an ended line are kept"


async def test_runbook_statements_revoke_a_line_of_keys(
    database: Database,
) -> None:
    key_id, _ = await issued(database)
    keys, overlap = KeyManagement(database, Unlimited()), timedelta(days=1)
    made = await keys.rotate(CALLER, key_id, overlap=overlap, request_id="1")
    await keys.rotate(CALLER, made.key.id, overlap=overlap, request_id="1")
    await issued(database)
    assert await live_keys(database) == 4
    section = RUNBOOK.read_text().partition("has leaked")[2]
    statements = section.partition("```sql\n")[2].partition("```")[0]
    async with database.connection() as db:
        prefix = await db.fetchval("SELECT prefix FROM api_keys WHERE id = $1", key_id)
        await db.execute(statements.replace("fbx_live_Ab3x", prefix))
    assert await live_keys(database) == 1


async def test_rotate_is_refused_when_a_line_has_too_many_recent_rotations(
    database: Database,
) -> None:
    keys = KeyManagement(database, Unlimited())
    line = await _line(database, MAX_ROTATIONS + 1, ended_before=ROTATION_WINDOW / 2)
    with pytest.raises(TooManyRotations):
        await keys.rotate(CALLER, line[-1], overlap=NOW, request_id="1")
    assert await live_keys(database) == 1
    async with database.connection() as db:
        words = "UPDATE api_keys SET updated_at = updated_at - $1::interval WHERE id <= $2"
        await db.execute(words, ROTATION_WINDOW, line[99])
    await keys.rotate(CALLER, line[-1], overlap=NOW, request_id="1")
    async with database.connection() as db:
        left = await db.fetchval("SELECT min(id) FROM api_keys")
    assert left == line[0], "keys outside the window are kept as others are"


async def test_an_owner_waiting_for_its_lock_holds_one_connection_of_a_replica(
    database: Database, postgres_url: Secret[str]
) -> None:
    """Another transaction holds the owner's lock, as one of another replica does."""
    terms = [KeyTerms(f"key {n}", frozenset(), None) for n in range(8)]
    async with Database(postgres_url, connections=2, wait_s=1) as small:
        keys = KeyManagement(small, Unlimited())
        async with database.transaction() as db:
            await key_store.lock_owner(db, OWNER)
            waiting = [
                asyncio.create_task(keys.create(CALLER, each, request_id="1")) for each in terms
            ]
            await until_lock_is_waited_for(database)
            await asyncio.wait_for(ping(small), WITHIN_S)
            stranger = Caller(OwnerId("user_2"), CallerKind.SESSION)
            made = await keys.create(stranger, terms[0], request_id="1")
            assert made.key.owner == "user_2"
            assert not any(each.done() for each in waiting)
        await asyncio.gather(*waiting)
