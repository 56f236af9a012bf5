"""A start with another key under the version of one that is needed."""

import pytest

from farebox.storage.pool import Database
from farebox.vault.key_check import KeyCheck, MasterKeyWrong
from support.manual_clock import ManualClock
from support.vault import NEW, OLD, a_value, another_key, keeper, keys, somebody

NOT_OLD = another_key(1)


async def test_a_key_that_opens_nothing_of_its_version_is_refused(
    database: Database, clock: ManualClock
) -> None:
    """Sealing on under the same version would leave secrets that no one key opens."""
    async with KeyCheck(database, keys(NOT_OLD), clock):
        pass
    await keeper(database, OLD).keep(somebody(), a_value())
    await keeper(database, NEW).keep(somebody(), a_value())
    async with KeyCheck(database, keys(NEW, OLD), clock):
        pass
    for given in ((NOT_OLD, NEW), (NEW, NOT_OLD)):
        with pytest.raises(MasterKeyWrong, match="version 1 "):
            async with KeyCheck(database, keys(*given), clock):
                pass


async def test_one_damaged_secret_keeps_no_service_from_its_start(
    database: Database, clock: ManualClock
) -> None:
    own, somebody_else = keeper(database, OLD), somebody()
    damaged = await own.keep(somebody_else, a_value())
    for _ in range(2):
        await own.keep(somebody_else, a_value())
    async with database.connection() as db:
        words = "UPDATE vault_secrets SET sealed = '\\x00', nonce = $2 WHERE id = $1"
        await db.execute(words, damaged.id, bytes(12))
    async with KeyCheck(database, keys(OLD), clock):
        pass
