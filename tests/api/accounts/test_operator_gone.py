"""What an operator's key leaves behind when it is taken out of the settings."""

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import OPERATOR_KEY, ask, bearer, made_key, replica, signed_in

ANOTHER = {"FAREBOX_OPERATOR_KEYS": "sha256:" + "ab" * 32}


async def status(client: AsgiClient, key: str) -> int:
    return (await ask(client, "GET", "/v1/audit", bearer(key))).status


@pytest.mark.parametrize("settings", [ANOTHER, {"FAREBOX_OPERATOR_KEYS": ""}])
async def test_keys_made_with_an_operators_key_end_with_it(
    postgres_url: Secret[str], database: Database, settings: dict[str, str]
) -> None:
    wallet = await signed_in(database)
    async with replica(postgres_url) as client:
        operators = (await made_key(client, bearer(OPERATOR_KEY)))["key"]
        wallets = (await made_key(client, wallet.headers))["key"]
        assert [await status(client, key) for key in (operators, wallets)] == [200, 200]
    async with replica(postgres_url, settings) as changed:
        assert [await status(changed, key) for key in (operators, wallets)] == [401, 200]
