"""Sessions and API keys are looked up by digest."""

import hashlib

from farebox.accounts import credential_store
from farebox.accounts.api_key import KeyTerms
from farebox.accounts.manage_keys import KeyManagement
from farebox.kernel.caller import Caller, CallerKind, Grant, OwnerId
from farebox.kernel.ids import new_id
from farebox.storage.pool import Database
from support.unlimited import Unlimited

OWNER = OwnerId("user_1")
CALLER = Caller(OWNER, CallerKind.SESSION)


async def test_find_key_returns_the_caller_with_its_grants(database: Database) -> None:
    terms = KeyTerms(new_id("name"), frozenset({Grant.WRAPPERS}), None)
    created = await KeyManagement(database, Unlimited()).create(CALLER, terms, request_id="1")
    key_id, digest = created.key.id, hashlib.sha256(created.value.reveal().encode()).digest()
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


async def test_credential_lookup_uses_the_digest_index(database: Database) -> None:
    for table in ("api_keys", "sessions"):
        async with database.transaction() as db:
            await db.execute("SET LOCAL enable_seqscan = off")
            plan = await db.fetch(f"EXPLAIN SELECT FROM {table} WHERE digest = '\\x00'")
        assert f"{table}_digest_key" in "\n".join(row[0] for row in plan)
