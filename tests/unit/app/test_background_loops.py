"""Every background loop outlives a database and nodes that do not answer."""

import asyncio
import base64
import os
from typing import Final

from stellar_sdk import Keypair

from farebox.app.configuration import read_settings
from farebox.app.lifespan import Lifespan
from farebox.app.services import build_services

NOWHERE: Final = "127.0.0.1:1"
AWHILE_S: Final = 1.0


async def test_no_loop_ends_when_database_and_nodes_are_away() -> None:
    environment = {
        "FAREBOX_DATABASE_URL": f"postgresql://farebox@{NOWHERE}/farebox",
        "FAREBOX_MASTER_KEYS": f"1:{base64.b64encode(os.urandom(32)).decode()}",
        "FAREBOX_PAYMASTER_SECRET_TESTNET": Keypair.random().secret,
        "FAREBOX_RELAYER_SECRET_TESTNET": Keypair.random().secret,
        "FAREBOX_REVENUE_ACCOUNT_TESTNET": Keypair.random().public_key,
        "FAREBOX_RPC_URL_TESTNET": f"http://{NOWHERE}",
    }
    services = build_services(read_settings(environment))
    names = [loop.name for loop in services.tasks]
    assert {"stellar:testnet closings", "stellar:testnet scheduler"} <= set(names)
    ended = asyncio.Event()
    lifespan = Lifespan(services, stop=ended.set)
    async with lifespan(None):
        await asyncio.wait([asyncio.create_task(ended.wait())], timeout=AWHILE_S)
        assert lifespan.failure is None
