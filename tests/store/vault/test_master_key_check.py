"""The start checks the master keys against the sealed secrets."""

import pytest

from farebox.app.asgi import create_app
from farebox.app.configuration import read_settings
from farebox.cli.serve import command_failure
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault.master_key_check import MasterKeyCheck, MasterKeyMissing, MasterKeyWrong
from support.asgi import started
from support.callers import replica
from support.manual_clock import ManualClock
from support.promises import case
from support.vault import NEW, OLD, another_key, keys, new_owner, random_value, vault_replica

NOT_OLD = another_key(1)


async def test_start_is_refused_when_a_version_has_the_wrong_master_key(
    database: Database, clock: ManualClock
) -> None:
    """Sealing with it would leave secrets of one version that need two keys."""
    async with MasterKeyCheck(database, keys(NOT_OLD), clock):
        pass
    await vault_replica(database, OLD).keep(new_owner(), random_value())
    await vault_replica(database, NEW).keep(new_owner(), random_value())
    async with MasterKeyCheck(database, keys(NEW, OLD), clock):
        pass
    for given in ((NOT_OLD, NEW), (NEW, NOT_OLD)):
        with pytest.raises(MasterKeyWrong, match="version 1 "):
            async with MasterKeyCheck(database, keys(*given), clock):
                pass


async def test_start_succeeds_with_one_damaged_secret(
    database: Database, clock: ManualClock
) -> None:
    own, owner = vault_replica(database, OLD), new_owner()
    damaged = await own.keep(owner, random_value())
    for _ in range(2):
        await own.keep(owner, random_value())
    async with database.connection() as db:
        words = "UPDATE vault_secrets SET sealed = '\\x00', nonce = $2 WHERE id = $1"
        await db.execute(words, damaged.id, bytes(12))
    async with MasterKeyCheck(database, keys(OLD), clock):
        pass


@case("VA-004")
async def test_start_is_refused_when_a_needed_master_key_is_missing(
    database: Database, clock: ManualClock
) -> None:
    async with MasterKeyCheck(database, None, clock):
        pass  # nothing is stored yet
    await vault_replica(database, OLD).keep(new_owner(), random_value())
    await vault_replica(database, NEW).keep(new_owner(), random_value())
    async with MasterKeyCheck(database, keys(NEW, OLD), clock):
        pass
    for given, missing in ((keys(NEW), "version 1,"), (keys(OLD), "version 2,"), (None, "1, 2,")):
        with pytest.raises(MasterKeyMissing, match=missing):
            async with MasterKeyCheck(database, given, clock):
                pass


async def test_start_without_a_database_checks_the_master_keys_when_it_is_reachable(
    database: Database, clock: ManualClock
) -> None:
    await vault_replica(database, OLD).keep(new_owner(), random_value())
    away = Database(Secret("postgresql:///none?host=/nowhere"), wait_s=0.2)
    async with away, MasterKeyCheck(away, keys(NEW), clock):
        pass
    with pytest.raises(MasterKeyMissing):
        await MasterKeyCheck(database, keys(NEW), clock).run()


async def test_a_master_key_missing_after_the_start_does_not_stop_the_service(
    database: Database, clock: ManualClock
) -> None:
    check = MasterKeyCheck(database, keys(OLD), clock)
    await check.check()
    await vault_replica(database, NEW).keep(new_owner(), random_value())
    await check.check()


async def test_service_does_not_start_when_a_needed_master_key_is_missing(
    database: Database, postgres_url: Secret[str]
) -> None:
    await vault_replica(database, OLD).keep(new_owner(), random_value())
    async with replica(postgres_url, {"FAREBOX_MASTER_KEYS": f"{NEW},{OLD}"}) as client:
        assert (await client.get("/health/live")).status == 200
    environment = {"FAREBOX_DATABASE_URL": postgres_url.reveal(), "FAREBOX_MASTER_KEYS": NEW}
    app = create_app(read_settings(environment, needs_network=False))
    with pytest.raises(AssertionError, match="MasterKeyMissing"):  # the start has failed
        async with started(app):
            pass
    ending = command_failure(app.failure)
    assert ending.exit_code == 2
    assert "version 1, which are not in" in ending.message


@pytest.mark.parametrize(
    ("count", "named"),
    [
        (1, "1"),
        (5, "1, 2, 3, 4, 5"),
        (6, "1, 2, 3, 4, 5 and others (6 in all)"),
        (10_000, "1, 2, 3, 4, 5 and others (10000 in all)"),
    ],
)
def test_message_names_five_versions_and_counts_the_rest(count: int, named: str) -> None:
    versions = frozenset(range(1, count + 1))
    for refusal in (MasterKeyMissing(versions), MasterKeyWrong(versions)):
        assert f"version {named}" in refusal.message
        assert len(refusal.message) < 250
