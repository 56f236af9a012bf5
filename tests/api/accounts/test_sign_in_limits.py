"""The rate limit of challenge requests."""

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
async def test_challenge_request_counts_once_per_address(
    postgres_url: Secret[str], database: Database, method: str, path: str
) -> None:
    async with replica(postgres_url, {"FAREBOX_RATE_PER_ADDRESS": "600"}) as client:
        await client.request(method, path, body=b"[]")
    async with database.connection() as db:
        counted = await db.fetchval("SELECT coalesce(sum(asked), 0) FROM ingress_counts")
    assert counted == 1
