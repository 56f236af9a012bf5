"""Secrets in PostgreSQL: created, rotated and deleted by two replicas at once."""

import asyncio
from collections import Counter

import pytest

from farebox.audit.event import Action
from farebox.kernel.errors import NotFound
from farebox.kernel.ids import new_id
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault import secret_store, stored_secret
from farebox.vault.manage_secrets import Vault
from farebox.vault.sealing import NonceUsed, SealBroken, Sealer
from farebox.vault.stored_secret import Purpose, SecretInUse, SecretNameTaken, TooManySecrets
from support.promises import case, promise
from support.unlimited import Unlimited
from support.vault import NEW, OLD, VaultReplica, keys, new_owner, random_value, vault_replica
from testing.waiting import WITHIN_S, until_lock_is_waited_for


@pytest.fixture
def replicas(database: Database, other_pool: Database) -> tuple[VaultReplica, VaultReplica]:
    return vault_replica(database), vault_replica(other_pool)


async def actions(database: Database, owner: str) -> list[str]:
    async with database.connection() as db:
        rows = await db.fetch("SELECT action FROM audit_trail WHERE owner = $1 ORDER BY 1", owner)
    return [row["action"] for row in rows]


async def test_a_secret_opens_on_every_replica_and_only_for_its_owner(
    replicas: tuple[VaultReplica, VaultReplica],
) -> None:
    one, other = replicas
    caller, value = new_owner(), random_value()
    secret = await one.keep(caller, value)
    assert await other.opened(secret) == value.reveal()
    for owner, secret_id in ((new_owner().owner, secret.id), (caller.owner, new_id("sec"))):
        with pytest.raises(SealBroken):
            await other.reader.read(owner, secret_id, purposes=list(Purpose))


async def test_a_secret_opens_only_for_its_own_purpose(database: Database) -> None:
    own = vault_replica(database)
    secret = await own.keep(new_owner(), random_value(), purpose=Purpose.OTHER)
    with pytest.raises(SealBroken):
        await own.reader.read(secret.owner, secret.id, purposes=[Purpose.HEADER, Purpose.BEARER])
    opened = await own.reader.read(secret.owner, secret.id, purposes=[Purpose.OTHER])
    assert str(opened) == repr(opened) == "[secret]"


@case("VA-005")
@promise("vault:unique-nonce")
async def test_nonces_are_unique_under_concurrent_writes_of_two_replicas(
    replicas: tuple[VaultReplica, VaultReplica], database: Database
) -> None:
    """A trigger records the nonce of every sealed value, the replaced ones included."""
    async with database.connection() as db:
        await db.execute(_RECORD)
    try:
        callers = [new_owner() for _ in range(8)]
        made = await asyncio.gather(
            *(replicas[n % 2].keep(callers[n % 8], random_value()) for n in range(80))
        )
        await asyncio.gather(
            *(
                replicas[(n + turn) % 2].vault.rotate(callers[n % 8], "r", each.id, random_value())
                for n, each in enumerate(made)
                for turn in range(4)
            )
        )
        async with database.connection() as db:
            nonces = Counter(row["nonce"] for row in await db.fetch("SELECT nonce FROM recorded"))
    finally:
        async with database.connection() as db:
            await db.execute(_STOP_RECORDING)
    assert nonces.total() == 80 * 5
    assert set(nonces.values()) == {1}


_RECORD = """
    CREATE TABLE recorded (nonce bytea);
    CREATE FUNCTION record_nonce() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO recorded VALUES (NEW.nonce); RETURN NEW; END $$;
    CREATE TRIGGER record_nonce AFTER INSERT OR UPDATE ON vault_secrets
    FOR EACH ROW EXECUTE FUNCTION record_nonce();
"""
_STOP_RECORDING = """
    DROP TRIGGER record_nonce ON vault_secrets; DROP FUNCTION record_nonce; DROP TABLE recorded
"""


@case("VA-005")
async def test_a_repeated_nonce_is_refused(database: Database) -> None:
    stuck = Vault(database, Sealer(keys(OLD), entropy=bytes), Unlimited())
    caller, last = new_owner(), random_value()
    kept = [vault_replica(database), vault_replica(database)]
    first = await stuck.create(
        caller, "r", name="first", value=random_value(), purpose=Purpose.HEADER
    )
    with pytest.raises(NonceUsed):
        await stuck.create(caller, "r", name="second", value=random_value(), purpose=Purpose.HEADER)
    other = await kept[0].keep(caller, last)
    with pytest.raises(NonceUsed):
        await stuck.rotate(caller, "r", other.id, random_value())
    assert await kept[1].opened(other) == last.reveal()
    assert len(await stuck.page(caller.owner, after=None, limit=9)) == 2
    assert await actions(database, caller.owner) == [Action.SECRET_CREATED] * 2
    assert first.id != other.id


async def test_concurrent_creates_of_one_name_store_one_secret(
    replicas: tuple[VaultReplica, VaultReplica], database: Database
) -> None:
    caller = new_owner()
    outcomes = await asyncio.gather(
        *(replicas[n % 2].keep(caller, random_value(), name="Weather") for n in range(8)),
        return_exceptions=True,
    )
    assert sum(isinstance(each, SecretNameTaken) for each in outcomes) == 7
    assert await actions(database, caller.owner) == [Action.SECRET_CREATED]
    await replicas[0].keep(
        new_owner(), random_value(), name="Weather"
    )  # another owner may use the name


async def test_concurrent_creates_stop_at_the_owners_limit_of_secrets(
    replicas: tuple[VaultReplica, VaultReplica], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farebox.vault.manage_secrets.MAX_SECRETS", 5)
    caller = new_owner()
    outcomes = await asyncio.gather(
        *(replicas[n % 2].keep(caller, random_value()) for n in range(12)), return_exceptions=True
    )
    assert sum(isinstance(each, TooManySecrets) for each in outcomes) == 7
    first = next(each for each in outcomes if isinstance(each, stored_secret.StoredSecret))
    await replicas[0].vault.delete(caller, "r", first.id)
    await replicas[0].keep(caller, random_value())


async def test_rotate_replaces_the_value_and_keeps_the_record(database: Database) -> None:
    own, caller, new = vault_replica(database), new_owner(), random_value()
    made = await own.keep(caller, random_value(), purpose=Purpose.BEARER)
    rotated = await own.vault.rotate(caller, "r", made.id, new)
    assert await own.opened(made) == new.reveal()
    assert (rotated.id, rotated.name, rotated.purpose) == (made.id, made.name, Purpose.BEARER)
    assert rotated.created_at == made.created_at
    assert rotated.updated_at > made.updated_at
    with pytest.raises(stored_secret.InvalidSecret):
        await own.vault.rotate(caller, "r", made.id, Secret("a b"))
    with pytest.raises(NotFound):
        await own.vault.rotate(new_owner(), "r", made.id, random_value())
    assert await own.opened(made) == new.reveal()
    expected = [Action.SECRET_CREATED, Action.SECRET_ROTATED]
    assert await actions(database, caller.owner) == expected


async def test_delete_is_refused_while_the_secret_is_referenced(database: Database) -> None:
    own, caller = vault_replica(database), new_owner()
    used, free = await own.keep(caller, random_value()), await own.keep(caller, random_value())
    async with database.connection() as db:
        await db.execute(
            "CREATE TABLE uses (secret_id text REFERENCES vault_secrets ON DELETE RESTRICT)"
        )
        await db.execute("INSERT INTO uses VALUES ($1)", used.id)
    try:
        with pytest.raises(SecretInUse):
            await own.vault.delete(caller, "r", used.id)
        await own.vault.delete(caller, "r", free.id)
        assert [each.id for each in await own.vault.page(caller.owner, after=None, limit=9)] == [
            used.id
        ]
        expected = [Action.SECRET_CREATED] * 2 + [Action.SECRET_DELETED]
        assert await actions(database, caller.owner) == expected
    finally:
        async with database.connection() as db:
            await db.execute("DROP TABLE uses")


@case("VA-002")
async def test_one_value_sealed_twice_has_different_nonces_and_ciphertexts(
    database: Database,
) -> None:
    own, caller, value = vault_replica(database), new_owner(), random_value()
    for _ in range(2):
        await own.keep(caller, value)
    async with database.connection() as db:
        rows = await db.fetch("SELECT nonce, sealed FROM vault_secrets")
    assert len({row["nonce"] for row in rows}) == 2
    assert len({row["sealed"] for row in rows}) == 2
    assert len({row["sealed"][:8] for row in rows}) == 2


@case("VA-004")
async def test_a_secret_opens_only_on_replicas_with_its_key_version(
    database: Database,
) -> None:
    before, turning, after = (
        vault_replica(database, OLD),
        vault_replica(database, NEW, OLD),
        vault_replica(database, NEW),
    )
    caller, old, new = new_owner(), random_value(), random_value()
    first, second = await before.keep(caller, old), await turning.keep(caller, new)
    assert await turning.opened(first) == old.reveal()
    assert await after.opened(second) == new.reveal()
    for replica, secret in ((after, first), (before, second)):
        with pytest.raises(SealBroken):
            await replica.opened(secret)
    await turning.vault.rotate(caller, "r", first.id, old)
    assert await after.opened(first) == old.reveal()


async def test_an_owner_waiting_for_its_lock_does_not_exhaust_the_pool(
    postgres_url: Secret[str], database: Database
) -> None:
    """Another replica holds the owner's lock while eight changes of that owner wait here."""
    one, other = new_owner(), new_owner()
    async with Database(postgres_url, connections=2, wait_s=5.0) as pool:
        vault = vault_replica(pool)
        async with database.transaction() as db:
            await secret_store.lock_owner(db, one.owner)
            crowd = [asyncio.create_task(vault.keep(one, random_value())) for _ in range(8)]
            await until_lock_is_waited_for(database)
            kept = await asyncio.wait_for(vault.keep(other, random_value()), WITHIN_S)
            assert not any(each.done() for each in crowd)
        assert len({secret.id for secret in await asyncio.gather(*crowd)}) == len(crowd)
        rotated = (vault.vault.rotate(other, "r", kept.id, random_value()) for _ in range(8))
        assert {each.id for each in await asyncio.gather(*rotated)} == {kept.id}
