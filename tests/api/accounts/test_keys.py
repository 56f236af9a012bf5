"""Personal keys over HTTP, two replicas on one database."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import Wallet, ask, made_key, replica, signed_in

KEYS = "/v1/api-keys"


@pytest.fixture
async def replicas(
    database: Database, postgres_url: Secret[str]
) -> AsyncIterator[tuple[AsgiClient, AsgiClient]]:
    async with replica(postgres_url) as one, replica(postgres_url) as other:
        yield one, other


@pytest.fixture
async def client(replicas: tuple[AsgiClient, AsgiClient]) -> AsgiClient:
    return replicas[0]


@pytest.fixture
async def wallet(database: Database) -> Wallet:
    return await signed_in(database)


async def items(client: AsgiClient, headers: dict[str, str], query: str = "") -> Any:
    answer = await ask(client, "GET", KEYS + query, headers)
    assert answer.status == 200, answer.body
    return answer.json()["items"]


async def test_a_key_is_shown_when_it_is_made_and_never_again(
    client: AsgiClient, wallet: Wallet
) -> None:
    made = await made_key(client, wallet.headers, name="  Build robot ")
    assert made["name"] == "Build robot"
