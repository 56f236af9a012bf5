"""The service when a database pool is exhausted or the database is unavailable."""

import asyncio

import pytest

from farebox.app import database_pools
from support.asgi import Answer
from support.stage import Stage, own_relayer, service
from testing.waiting import until

FEW_READS = {"FAREBOX_DATABASE_CONNECTIONS_READS": "2"}
BROWSE = "/discovery/resources"
SETTLEMENT = f"/v1/settlements/{'ab' * 32}"


def is_refused(answer: Answer) -> bool:
    """503 in the shape of every route that has none of its own, and when to ask again."""
    if answer.status != 503:
        return False
    assert answer.json()["error"]["code"] == "service_unavailable"
    assert answer.headers["retry-after"] == "1"
    return True


async def test_browse_is_refused_and_settle_works_when_read_pool_is_exhausted(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_pools, "_READ_S", 60.0)  # the one that waits for the lock gets it
    settings = stage.environment | await own_relayer(stage) | FEW_READS
    async with service(settings) as client:
        alone = Stage(client, stage.networks, settings)
        async with stage.locked("listings"):
            browsing = [asyncio.create_task(client.get(BROWSE)) for _ in range(4)]
            await until(lambda: sum(each.done() for each in browsing) == 3)
            refused = [each.result() for each in browsing if each.done()]
            assert [is_refused(each) for each in refused] == [True] * 3
            draft = await alone.draft()
            assert (await alone.settle(draft.request()))["success"] is True
            assert (await client.get(SETTLEMENT)).status == 404, "look-ups keep a connection"
        statuses = sorted([each.status for each in await asyncio.gather(*browsing)])
        assert statuses == [200, 503, 503, 503]


async def test_every_outage_has_retry_after(stage: Stage) -> None:
    nowhere = {"FAREBOX_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    async with service(stage.environment | nowhere, is_ready=False) as client:
        for path in (BROWSE, SETTLEMENT):
            answer = await client.get(path)
            assert (answer.status, answer.headers["retry-after"]) == (503, "5")
