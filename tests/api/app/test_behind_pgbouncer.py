"""The whole service behind PgBouncer in transaction mode."""

import asyncio
from typing import Final

import pytest

from farebox.kernel.secret import Secret
from support.pgbouncer import pgbouncer, program
from support.stage import Stage, own_relayer, service

SERVER_CONNECTIONS: Final = 4
PAYMENTS: Final = 6

pytestmark = pytest.mark.skipif(
    program() is None, reason="scripts/test installs pgbouncer, or says that it could not"
)


async def test_service_behind_pgbouncer_settles_once_and_answers_all_routes(stage: Stage) -> None:
    settings = stage.environment | await own_relayer(stage)
    direct = Secret(settings["FAREBOX_DATABASE_URL"])
    with pgbouncer(direct, server_connections=SERVER_CONNECTIONS) as url:
        pooled = {"FAREBOX_DATABASE_URL": url.reveal(), "FAREBOX_DATABASE_POOLER": "transaction"}
        async with service(settings | pooled) as client:
            alone = Stage(client, stage.networks, settings)
            drafts = [await alone.draft() for _ in range(PAYMENTS)]
            bodies = [draft.request() for draft in drafts]
            outcomes = await asyncio.gather(*(alone.settle(each) for each in bodies * 2))
            successes = [each["transaction"] for each in outcomes if each["success"]]
            assert len(successes) == len(set(successes)) == PAYMENTS
            for path in ("/discovery/resources", "/discovery/search?query=weather"):
                assert (await client.get(path)).status == 200, path
            shown = await client.get(f"/v1/settlements/{successes[0]}")
            assert (shown.status, shown.json()["status"]) == (200, "confirmed")
