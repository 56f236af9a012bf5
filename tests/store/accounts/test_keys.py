"""The rows of keys when several transactions want them at once."""

import asyncio
import hashlib
from datetime import timedelta

from farebox.accounts import credential_store, key_store
from farebox.accounts.api_key import KeyTerms
from farebox.accounts.manage_keys import KeyManagement
from farebox.kernel.caller import Caller, CallerKind, Grant, OwnerId
from farebox.kernel.ids import new_id
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database

OWNER = OwnerId("user_1")
CALLER = Caller(OWNER, CallerKind.SESSION)
NOW = timedelta(0)


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
        assert await key_store.revoke_key(db, OWNER, key_id) is not None
        async with database.connection() as other:
            waiting = asyncio.create_task(
                key_store.retire_key(other, OWNER, key_id, successor="key_2", overlap=NOW)
            )
            await asyncio.sleep(0.05)
            assert not waiting.done()
            await db.execute("COMMIT")
            assert await waiting is None
            await db.execute("BEGIN")


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
