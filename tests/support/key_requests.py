"""Requests to the routes of API keys."""

from collections.abc import Mapping
from typing import Any

from farebox.kernel.ids import new_id
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import bearer, send_request

KEYS = "/v1/api-keys"
Replicas = tuple[AsgiClient, AsgiClient]
Headers = Mapping[str, str]


async def list_keys(client: AsgiClient, headers: Headers, query: str = "") -> dict[str, Any]:
    answer = await send_request(client, "GET", KEYS + query, headers)
    assert answer.status == 200, answer.body
    return answer.json()


async def post_key_request(
    client: AsgiClient, path: str, headers: Headers, value: object = None
) -> tuple[int, Any]:
    answer = await send_request(client, "POST", path, headers, value)
    body = answer.json()
    return answer.status, body.get("error", {}).get("code", body)


async def is_valid_key(client: AsgiClient, key: str) -> bool:
    """Whether the key is valid: a valid key gets 403 for the rotation of another, not 401."""
    answer = await send_request(client, "POST", f"{KEYS}/{new_id('key')}/rotate", bearer(key))
    assert answer.status in (401, 403), answer.body
    return answer.status == 403


async def end_key(database: Database, key_id: str) -> None:
    async with database.connection() as db:
        await db.execute("UPDATE api_keys SET expires_at = clock_timestamp() WHERE id = $1", key_id)
