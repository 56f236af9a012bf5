"""Secrets in PostgreSQL: two replicas at once, the bound of an owner, and what is still used."""

import asyncio
from collections import Counter

import pytest

from farebox.audit.trail import Action
from farebox.kernel.errors import NotFound
from farebox.kernel.ids import new_id
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault import stored_secret
from farebox.vault.keep_secrets import Vault
from farebox.vault.sealing import NonceUsed, SealBroken, Sealer
from farebox.vault.stored_secret import NameTaken, Purpose, SecretInUse, TooManySecrets
from support.promises import case, promise
from support.vault import NEW, OLD, Keeper, a_value, keeper, keys, somebody


@pytest.fixture
def replicas(database: Database, other_pool: Database) -> tuple[Keeper, Keeper]:
    return keeper(database), keeper(other_pool)


async def actions(database: Database, owner: str) -> list[str]:
    async with database.connection() as db:
        rows = await db.fetch("SELECT action FROM audit_trail WHERE owner = $1 ORDER BY 1", owner)
    return [row["action"] for row in rows]


async def test_a_secret_is_opened_by_any_replica_and_by_its_owner_alone(
    replicas: tuple[Keeper, Keeper],
) -> None:
    one, other = replicas
    caller, value = somebody(), a_value()
    secret = await one.keep(caller, value)
    assert await other.opened(secret) == value.reveal()
    for owner, secret_id in ((somebody().owner, secret.id), (caller.owner, new_id("sec"))):
        with pytest.raises(SealBroken):
            await other.opening.open(owner, secret_id, purposes=list(Purpose))


async def test_a_secret_is_opened_for_its_own_purpose_alone(database: Database) -> None:
    own = keeper(database)
    secret = await own.keep(somebody(), a_value(), purpose=Purpose.OTHER)
    with pytest.raises(SealBroken):
        await own.opening.open(secret.owner, secret.id, purposes=[Purpose.HEADER, Purpose.BEARER])
    opened = await own.opening.open(secret.owner, secret.id, purposes=[Purpose.OTHER])
    assert str(opened) == repr(opened) == "[secret]"


@case("VA-005")
@promise("vault:unique-nonce")
async def test_no_nonce_comes_twice_whoever_writes_beside_whom(
    replicas: tuple[Keeper, Keeper], database: Database
) -> None:
    """Every sealing of two replicas is recorded by the database itself, the replaced ones too."""
    async with database.connection() as db:
        await db.execute(_RECORD)
    try:
        callers = [somebody() for _ in range(8)]
        made = await asyncio.gather(
            *(replicas[n % 2].keep(callers[n % 8], a_value()) for n in range(80))
        )
        await asyncio.gather(
            *(
                replicas[(n + turn) % 2].vault.rotate(callers[n % 8], "r", each.id, a_value())
                for n, each in enumerate(made)
                for turn in range(4)
            )
        )
        async with database.connection() as db:
            nonces = Counter(row["nonce"] for row in await db.fetch("SELECT nonce FROM recorded"))
    finally:
        async with database.connection() as db:
            await db.execute(_RECORD_NO_MORE)
    assert nonces.total() == 80 * 5
    assert set(nonces.values()) == {1}


_RECORD = """
    CREATE TABLE recorded (nonce bytea);
    CREATE FUNCTION record_nonce() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO recorded VALUES (NEW.nonce); RETURN NEW; END $$;
    CREATE TRIGGER record_nonce AFTER INSERT OR UPDATE ON vault_secrets
    FOR EACH ROW EXECUTE FUNCTION record_nonce();
"""
_RECORD_NO_MORE = """
    DROP TRIGGER record_nonce ON vault_secrets; DROP FUNCTION record_nonce; DROP TABLE recorded
"""


@case("VA-005")
async def test_randomness_that_repeats_itself_seals_nothing(database: Database) -> None:
    stuck = Vault(database, Sealer(keys(OLD), entropy=bytes))
    caller, last = somebody(), a_value()
    kept = [keeper(database), keeper(database)]
    first = await stuck.create(caller, "r", name="first", value=a_value(), purpose=Purpose.HEADER)
    with pytest.raises(NonceUsed):
        await stuck.create(caller, "r", name="second", value=a_value(), purpose=Purpose.HEADER)
    other = await kept[0].keep(caller, last)
    with pytest.raises(NonceUsed):
        await stuck.rotate(caller, "r", other.id, a_value())
    assert await kept[1].opened(other) == last.reveal()
    assert len(await stuck.page(caller.owner, after=None, limit=9)) == 2
    assert await actions(database, caller.owner) == [Action.SECRET_CREATED] * 2
    assert first.id != other.id


async def test_of_one_name_there_is_one_secret_whoever_asks_at_once(
    replicas: tuple[Keeper, Keeper], database: Database
) -> None:
    caller = somebody()
    outcomes = await asyncio.gather(
        *(replicas[n % 2].keep(caller, a_value(), name="Weather") for n in range(8)),
        return_exceptions=True,
    )
    assert sum(isinstance(each, NameTaken) for each in outcomes) == 7
    assert await actions(database, caller.owner) == [Action.SECRET_CREATED]
    await replicas[0].keep(somebody(), a_value(), name="Weather")  # another owner's is no matter


async def test_an_owner_has_so_many_secrets_and_no_more_however_they_come(
    replicas: tuple[Keeper, Keeper], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("farebox.vault.keep_secrets.MOST_SECRETS", 5)
    caller = somebody()
    outcomes = await asyncio.gather(
        *(replicas[n % 2].keep(caller, a_value()) for n in range(12)), return_exceptions=True
    )
    assert sum(isinstance(each, TooManySecrets) for each in outcomes) == 7
    first = next(each for each in outcomes if isinstance(each, stored_secret.StoredSecret))
    await replicas[0].vault.delete(caller, "r", first.id)
    await replicas[0].keep(caller, a_value())


async def test_a_rotation_keeps_the_record_and_replaces_the_value(database: Database) -> None:
    own, caller, new = keeper(database), somebody(), a_value()
    made = await own.keep(caller, a_value(), purpose=Purpose.BEARER)
    rotated = await own.vault.rotate(caller, "r", made.id, new)
    assert await own.opened(made) == new.reveal()
    assert (rotated.id, rotated.name, rotated.purpose) == (made.id, made.name, Purpose.BEARER)
    assert rotated.created_at == made.created_at
    assert rotated.updated_at > made.updated_at
    with pytest.raises(stored_secret.BadSecret):
        await own.vault.rotate(caller, "r", made.id, Secret("a b"))
    with pytest.raises(NotFound):
        await own.vault.rotate(somebody(), "r", made.id, a_value())
    assert await own.opened(made) == new.reveal()
    expected = [Action.SECRET_CREATED, Action.SECRET_ROTATED]
    assert await actions(database, caller.owner) == expected


async def test_a_secret_that_something_refers_to_is_not_deleted(database: Database) -> None:
    own, caller = keeper(database), somebody()
    used, free = await own.keep(caller, a_value()), await own.keep(caller, a_value())
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
async def test_the_same_value_kept_twice_has_nothing_in_common(database: Database) -> None:
    own, caller, value = keeper(database), somebody(), a_value()
    for _ in range(2):
        await own.keep(caller, value)
    async with database.connection() as db:
        rows = await db.fetch("SELECT nonce, sealed FROM vault_secrets")
    assert len({row["nonce"] for row in rows}) == 2
    assert len({row["sealed"] for row in rows}) == 2
    assert len({row["sealed"][:8] for row in rows}) == 2


@case("VA-004")
async def test_what_replicas_with_older_or_newer_keys_seal_opens_where_its_key_is(
    database: Database,
) -> None:
    before, turning, after = (
        keeper(database, OLD),
        keeper(database, NEW, OLD),
        keeper(database, NEW),
    )
    caller, old, new = somebody(), a_value(), a_value()
    first, second = await before.keep(caller, old), await turning.keep(caller, new)
    assert await turning.opened(first) == old.reveal()
    assert await after.opened(second) == new.reveal()
    for replica, secret in ((after, first), (before, second)):
        with pytest.raises(SealBroken):
            await replica.opened(secret)
    await turning.vault.rotate(caller, "r", first.id, old)
    assert await after.opened(first) == old.reveal()
