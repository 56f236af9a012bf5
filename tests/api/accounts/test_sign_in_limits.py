"""How often anybody may ask for what stands before a sign-in."""

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.callers import replica

PATHS = (
    ("POST", "/v1/auth/challenge"),
    ("POST", "/v1/auth/verify"),
    ("GET", "/.well-known/stellar.toml"),
)


@pytest.mark.parametrize(("method", "path"), PATHS)
async def test_a_request_counts_once_for_its_address(
    postgres_url: Secret[str], database: Database, method: str, path: str
) -> None:
    async with replica(postgres_url, {"FAREBOX_RATE_PER_ADDRESS": "600"}) as client:
        await client.request(method, path, body=b"[]")
    async with database.connection() as db:
        asked = await db.fetchval("SELECT coalesce(sum(asked), 0) FROM ingress_counts")
    assert asked == 1
