"""Re-sealing under another master key, and what a start without a needed key does."""

import asyncio

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault import secret_store
from farebox.vault.key_check import KeyCheck, MasterKeyMissing
from farebox.vault.reseal import Resealed, Resealing
from farebox.vault.sealing import Sealer
from support.manual_clock import ManualClock
from support.promises import case
from support.vault import NEW, OLD, a_value, keeper, keys, somebody


async def versions(database: Database) -> list[int]:
    async with database.connection() as db:
        rows = await db.fetch("SELECT key_version FROM vault_secrets ORDER BY 1")
    return [row["key_version"] for row in rows]


def resealing(
    database: Database, told: list[Resealed], *, sealer: Sealer | None = None
) -> Resealing:
    return Resealing(database, sealer or Sealer(keys(NEW, OLD)), told.append, batch=3)


async def test_everything_is_sealed_with_the_first_key_and_still_opens(database: Database) -> None:
    old, both, caller = keeper(database, OLD), keeper(database, NEW, OLD), somebody()
    values = [a_value() for _ in range(8)]
    made = [await old.keep(caller, value) for value in values]
    made.append(await both.keep(caller, values[0]))
    told: list[Resealed] = []
    done = await resealing(database, told).run()
    assert done == Resealed(8, 0, ())
    assert [(each.resealed, each.left) for each in told] == [(3, 5), (6, 2), (8, 0)]
    assert await versions(database) == [2] * 9
    alone = keeper(database, NEW)
    opened = [await alone.opened(each) for each in made]
    assert opened == [value.reveal() for value in [*values, values[0]]]
    shown = await alone.vault.page(caller.owner, after=None, limit=20)
    assert {each.id: each.updated_at for each in shown} == {
        each.id: each.updated_at for each in made
    }, "its owner has changed nothing"
    assert await resealing(database, told).run() == Resealed(0, 0, ())


async def test_a_run_that_was_stopped_is_taken_up_where_it_stood(database: Database) -> None:
    old = keeper(database, OLD)
    for _ in range(7):
        await old.keep(somebody(), a_value())

    def stop(so_far: Resealed) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await Resealing(database, Sealer(keys(NEW, OLD)), stop, batch=3).run()
    assert await versions(database) == [1] * 4 + [2] * 3
    assert await resealing(database, []).run() == Resealed(4, 0, ())


@case("VA-004")
async def test_a_value_given_meanwhile_is_never_put_back(database: Database) -> None:
    """The row that was read is replaced only while it is the very row that was read."""
    old, both, caller, latest = (
        keeper(database, OLD),
        keeper(database, NEW, OLD),
        somebody(),
        a_value(),
    )
    secret = await old.keep(caller, a_value())
    async with database.connection() as db:
        (read,) = await secret_store.list_sealed_otherwise(db, 2, after="", limit=9)
    await old.vault.rotate(caller, "r", secret.id, latest)  # under the old key, as before
    sealer = Sealer(keys(NEW, OLD))
    stale = sealer.seal(sealer.open(read.sealed, read.context), read.context)
    async with database.connection() as db:
        assert not await secret_store.replace_sealed(db, read, stale)
    assert await both.opened(secret) == latest.reveal()
    assert await resealing(database, []).run() == Resealed(1, 0, ())
    assert await both.opened(secret) == latest.reveal()


async def test_values_given_while_everything_is_resealed_are_the_ones_that_stay(
    database: Database, postgres_url: Secret[str]
) -> None:
    async with Database(postgres_url, connections=4) as elsewhere:
        old, caller = keeper(elsewhere, OLD), somebody()
        made = [await old.keep(caller, a_value()) for _ in range(12)]
        latest: dict[str, str] = {}

        async def rotate(part: int) -> None:
            for turn in range(36):
                value, secret = a_value(), made[(turn * 5 + part) % 12 // 3 * 3 + part]
                await old.vault.rotate(caller, "r", secret.id, value)
                latest[secret.id] = value.reveal()

        async def reseal() -> None:
            for _ in range(12):
                await Resealing(database, Sealer(keys(NEW, OLD)), lambda _: None, batch=2).run()

        await asyncio.gather(reseal(), *(rotate(part) for part in range(3)))
    assert (await resealing(database, []).run()).left == 0
    both = keeper(database, NEW, OLD)
    assert {each.id: await both.opened(each) for each in made} == latest
    assert await versions(database) == [2] * 12


async def test_what_does_not_open_is_named_and_holds_up_nothing_else(database: Database) -> None:
    old = keeper(database, OLD)
    made = [await old.keep(somebody(), a_value()) for _ in range(5)]
    broken = made[2]
    async with database.connection() as db:
        await db.execute("UPDATE vault_secrets SET owner = 'user_x' WHERE id = $1", broken.id)
    done = await resealing(database, []).run()
    assert done == Resealed(4, 1, (broken.id,))
    assert await versions(database) == [1, 2, 2, 2, 2]


@case("VA-004")
async def test_a_start_without_a_key_that_is_needed_is_refused(
    database: Database, clock: ManualClock
) -> None:
    async with KeyCheck(database, None, clock):
        pass  # nothing is stored yet
    await keeper(database, OLD).keep(somebody(), a_value())
    await keeper(database, NEW).keep(somebody(), a_value())
    async with KeyCheck(database, keys(NEW, OLD), clock):
        pass
    for given, missing in ((keys(NEW), "version 1,"), (keys(OLD), "version 2,"), (None, "1, 2,")):
        with pytest.raises(MasterKeyMissing, match=missing):
            async with KeyCheck(database, given, clock):
                pass


async def test_a_start_while_the_database_is_away_is_judged_by_the_first_look_at_it(
    database: Database, clock: ManualClock
) -> None:
    await keeper(database, OLD).keep(somebody(), a_value())
    away = Database(Secret("postgresql:///none?host=/nowhere"), wait_s=0.2)
    async with away, KeyCheck(away, keys(NEW), clock):
        pass
    with pytest.raises(MasterKeyMissing):
        await KeyCheck(database, keys(NEW), clock).run()


async def test_a_key_that_is_missed_later_does_not_end_a_running_service(
    database: Database, clock: ManualClock
) -> None:
    check = KeyCheck(database, keys(OLD), clock)
    await check.check()
    await keeper(database, NEW).keep(somebody(), a_value())
    await check.check()
