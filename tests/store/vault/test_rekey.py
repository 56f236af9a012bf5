"""Rekeying seals every secret with the first master key."""

import asyncio

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault import secret_store
from farebox.vault.rekey import Rekeying, RekeyProgress
from farebox.vault.sealing import Sealer
from support.promises import case
from support.vault import NEW, OLD, keys, new_owner, random_value, vault_replica


async def versions(database: Database) -> list[int]:
    async with database.connection() as db:
        rows = await db.fetch("SELECT key_version FROM vault_secrets ORDER BY 1")
    return [row["key_version"] for row in rows]


def rekeying(database: Database, progress: list[RekeyProgress]) -> Rekeying:
    return Rekeying(database, Sealer(keys(NEW, OLD)), progress.append, batch=3)


async def test_rekey_seals_every_secret_with_the_first_key(database: Database) -> None:
    old, both, caller = vault_replica(database, OLD), vault_replica(database, NEW, OLD), new_owner()
    values = [random_value() for _ in range(8)]
    made = [await old.keep(caller, value) for value in values]
    made.append(await both.keep(caller, values[0]))
    progress: list[RekeyProgress] = []
    done = await rekeying(database, progress).run()
    assert done == RekeyProgress(8, 0, ())
    assert [(each.resealed, each.left) for each in progress] == [(3, 5), (6, 2), (8, 0)]
    assert await versions(database) == [2] * 9
    alone = vault_replica(database, NEW)
    opened = [await alone.opened(each) for each in made]
    assert opened == [value.reveal() for value in [*values, values[0]]]
    shown = await alone.vault.page(caller.owner, after=None, limit=20)
    assert {each.id: each.updated_at for each in shown} == {
        each.id: each.updated_at for each in made
    }, "rekeying is no change by the owner"
    assert await rekeying(database, progress).run() == RekeyProgress(0, 0, ())


async def test_rekey_resumes_after_an_interruption(database: Database) -> None:
    old = vault_replica(database, OLD)
    for _ in range(7):
        await old.keep(new_owner(), random_value())

    def stop(so_far: RekeyProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await Rekeying(database, Sealer(keys(NEW, OLD)), stop, batch=3).run()
    assert await versions(database) == [1] * 4 + [2] * 3
    assert await rekeying(database, []).run() == RekeyProgress(4, 0, ())


@case("VA-004")
async def test_rekey_does_not_overwrite_a_secret_rotated_after_it_was_read(
    database: Database,
) -> None:
    """A row is replaced only while it is unchanged since it was read."""
    old, both, caller, latest = (
        vault_replica(database, OLD),
        vault_replica(database, NEW, OLD),
        new_owner(),
        random_value(),
    )
    secret = await old.keep(caller, random_value())
    async with database.connection() as db:
        (read,) = await secret_store.list_to_rekey(db, 2, after="", limit=9)
    await old.vault.rotate(caller, "r", secret.id, latest)  # under the old key, as before
    sealer = Sealer(keys(NEW, OLD))
    stale = sealer.seal(sealer.open(read.sealed, read.associated_data), read.associated_data)
    async with database.connection() as db:
        assert not await secret_store.replace_sealed(db, read, stale)
    assert await both.opened(secret) == latest.reveal()
    assert await rekeying(database, []).run() == RekeyProgress(1, 0, ())
    assert await both.opened(secret) == latest.reveal()


async def test_rotations_during_a_rekey_keep_their_values(
    database: Database, postgres_url: Secret[str]
) -> None:
    async with Database(postgres_url, connections=4) as elsewhere:
        old, caller = vault_replica(elsewhere, OLD), new_owner()
        made = [await old.keep(caller, random_value()) for _ in range(12)]
        latest: dict[str, str] = {}

        async def rotate(part: int) -> None:
            for turn in range(36):
                value, secret = random_value(), made[(turn * 5 + part) % 12 // 3 * 3 + part]
                await old.vault.rotate(caller, "r", secret.id, value)
                latest[secret.id] = value.reveal()

        async def reseal() -> None:
            for _ in range(12):
                await Rekeying(database, Sealer(keys(NEW, OLD)), lambda _: None, batch=2).run()

        await asyncio.gather(reseal(), *(rotate(part) for part in range(3)))
    assert (await rekeying(database, []).run()).left == 0
    both = vault_replica(database, NEW, OLD)
    assert {each.id: await both.opened(each) for each in made} == latest
    assert await versions(database) == [2] * 12


async def test_rekey_reports_unreadable_secrets_and_continues(database: Database) -> None:
    old = vault_replica(database, OLD)
    made = [await old.keep(new_owner(), random_value()) for _ in range(5)]
    broken = made[2]
    async with database.connection() as db:
        await db.execute("UPDATE vault_secrets SET owner = 'user_x' WHERE id = $1", broken.id)
    done = await rekeying(database, []).run()
    assert done == RekeyProgress(4, 1, (broken.id,))
    assert await versions(database) == [1, 2, 2, 2, 2]
