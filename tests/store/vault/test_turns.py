"""Whoever waits for itself keeps nobody else from the vault."""

import asyncio

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault import secret_store
from support.vault import a_value, keeper, somebody

CONNECTIONS = 2


async def test_an_owner_whose_turn_is_taken_elsewhere_uses_up_no_pool(
    postgres_url: Secret[str], database: Database
) -> None:
    """Another replica holds the owner's turn, while far more of its changes wait here."""
    one, other = somebody(), somebody()
    async with Database(postgres_url, connections=CONNECTIONS, wait_s=5.0) as pool:
        vault = keeper(pool)
        async with database.transaction() as db:
            await secret_store.take_turn(db, one.owner)
            crowd = [asyncio.create_task(vault.keep(one, a_value())) for _ in range(8)]
            await asyncio.sleep(0.05)
            kept = await asyncio.wait_for(vault.keep(other, a_value()), 2)
            assert not any(each.done() for each in crowd)
        assert len({secret.id for secret in await asyncio.gather(*crowd)}) == len(crowd)
        rotated = (vault.vault.rotate(other, "r", kept.id, a_value()) for _ in range(8))
        assert {each.id for each in await asyncio.gather(*rotated)} == {kept.id}
