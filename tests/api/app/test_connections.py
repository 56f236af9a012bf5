"""What a caller meets when the service has no connection to the database left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from support.asgi import Answer
from support.stage import Stage, own_relayer, service

FEW_READS = {"FAREBOX_DATABASE_CONNECTIONS_READS": "2"}
BROWSE = "/discovery/resources"
SETTLEMENT = f"/v1/settlements/{'ab' * 32}"


@asynccontextmanager
async def locked(stage: Stage, table: str) -> AsyncIterator[None]:
    """Every statement on the table waits inside this context."""
    db = await asyncpg.connect(stage.environment["FAREBOX_DATABASE_URL"])
    try:
        async with db.transaction():
            await db.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        await db.close()


def is_refused(answer: Answer) -> bool:
    """503 in the shape of every route that has none of its own, and when to ask again."""
    if answer.status != 503:
        return False
    assert answer.json()["error"]["code"] == "service_unavailable"
    assert answer.headers["retry-after"] == "1"
    return True


async def test_browsing_is_refused_when_no_connection_is_free_and_settlements_go_on(
    stage: Stage,
) -> None:
    settings = stage.environment | await own_relayer(stage) | FEW_READS
    async with service(settings) as client:
        alone = Stage(client, stage.networks, settings)
        async with locked(stage, "listings"):
            browsing = [asyncio.create_task(client.get(BROWSE)) for _ in range(4)]
            done, waiting = await asyncio.wait(browsing, timeout=3)
            assert [is_refused(each.result()) for each in done] == [True] * 3
            draft = await alone.draft()
            assert (await alone.settle(draft.request()))["success"] is True
            assert (await client.get(SETTLEMENT)).status == 404, "look-ups keep a connection"
        assert [each.status for each in await asyncio.gather(*waiting)] == [200]


async def test_every_outage_says_when_to_ask_again(stage: Stage) -> None:
    nowhere = {"FAREBOX_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    async with service(stage.environment | nowhere, is_ready=False) as client:
        for path in (BROWSE, SETTLEMENT):
            answer = await client.get(path)
            assert (answer.status, answer.headers["retry-after"]) == (503, "5")
