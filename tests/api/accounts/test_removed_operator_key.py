"""The records of an operator key that was removed from the settings."""

import pytest

from farebox.kernel.secret import Secret
from support.asgi import AsgiClient
from support.callers import OPERATOR_KEY, Wallet, bearer, create_key, replica, send_request

ANOTHER = {"FAREBOX_OPERATOR_KEYS": "sha256:" + "ab" * 32}


async def status(client: AsgiClient, key: str) -> int:
    return (await send_request(client, "GET", "/v1/audit", bearer(key))).status


@pytest.mark.parametrize("settings", [ANOTHER, {"FAREBOX_OPERATOR_KEYS": ""}])
async def test_keys_of_removed_operator_key_are_refused(
    client: AsgiClient, postgres_url: Secret[str], wallet: Wallet, settings: dict[str, str]
) -> None:
    operators = (await create_key(client, bearer(OPERATOR_KEY)))["key"]
    wallets = (await create_key(client, wallet.headers))["key"]
    assert [await status(client, key) for key in (operators, wallets)] == [200, 200]
    async with replica(postgres_url, settings) as changed:
        assert [await status(changed, key) for key in (operators, wallets)] == [401, 200]
