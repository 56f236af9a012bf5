"""The quotas of accounts that do not exist on the ledger."""

from collections.abc import AsyncIterator, Iterator

import pytest

from farebox.accounts.key_store import QUOTA as KEY_QUOTA
from farebox.app import database_pools
from farebox.kernel.ids import new_id
from farebox.kernel.secret import Secret
from farebox.storage.client_quota import ClientQuota
from farebox.storage.pool import Database
from farebox.vault.secret_store import QUOTA as SECRET_QUOTA
from support.asgi import AsgiClient
from support.callers import Wallet, create_key, replica, send_request, sign_in_wallet
from support.vault import VAULT_SETTING

KEYS, SECRETS = "/v1/api-keys", "/v1/vault/secrets"
PROXIED = VAULT_SETTING | {"FAREBOX_TRUSTED_PROXIES": "127.0.0.1"}
HERE, ELSEWHERE = {"x-forwarded-for": "192.0.2.1"}, {"x-forwarded-for": "192.0.2.2"}
SITE = [{"x-forwarded-for": f"2001:db8:{each}::1"} for each in ("1:1", "1:ffff", "2:1")]
PLACES = [(HERE, HERE, ELSEWHERE), tuple(SITE)]  # two networks of one site, and another site


@pytest.fixture(scope="module", autouse=True)
def _only_the_database_counts() -> Iterator[None]:
    """A slow one is waited for: a process that counts by itself allows more as time passes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database_pools, "_COUNT_S", 60.0)
        yield


@pytest.fixture(scope="module")
async def kept_service(postgres_url: Secret[str]) -> AsyncIterator[AsgiClient]:
    """A replica behind a proxy, on whatever rows exist."""
    async with replica(postgres_url, PROXIED) as client:
        yield client


@pytest.fixture
def service(kept_service: AsgiClient, database: Database) -> AsgiClient:
    """That replica, on a database without a row."""
    del database
    return kept_service


async def established(database: Database, wallet: Wallet) -> None:
    async with database.connection() as db:
        await db.execute("UPDATE users SET was_on_ledger = true WHERE id = $1", wallet.owner)


async def fill(database: Database, table: str, rows: int) -> None:
    """So many rows more of the only client address there is, each of an owner of its own."""
    columns = {
        "api_keys": ("name, prefix, grants, client", "digest", "sha256(n::text::bytea)"),
        "vault_secrets": (
            "purpose, key_version, sealed, client",
            "name, nonce",
            "n::text, substr(sha256(n::text::bytea), 1, 12)",
        ),
    }
    same, own, values = columns[table]
    async with database.connection() as db:
        await db.execute(
            f"""
            INSERT INTO {table} (id, owner, {same}, {own})
            SELECT 'filled ' || n, 'owner ' || n, {same}, {values}
            FROM {table}, generate_series(1, $1::int) AS n
            """,
            rows,
        )


@pytest.mark.parametrize(
    ("path", "quota"),
    [(KEYS, KEY_QUOTA), (SECRETS, SECRET_QUOTA)],
    ids=["keys", "secrets"],
)
@pytest.mark.parametrize("places", PLACES, ids=["address", "site"])
async def test_unfunded_accounts_of_one_site_share_a_quota(
    service: AsgiClient,
    database: Database,
    path: str,
    quota: ClientQuota,
    places: tuple[dict[str, str], dict[str, str], dict[str, str]],
) -> None:
    here, beside, elsewhere = places

    async def make(wallet: Wallet, place: dict[str, str]) -> tuple[int, str]:
        value = {"name": new_id("name")} | ({"value": "some value"} if path == SECRETS else {})
        answer = await send_request(service, "POST", path, wallet.headers | place, value)
        return answer.status, answer.json().get("error", {}).get("code", "")

    first, second, known = [await sign_in_wallet(database) for _ in range(3)]
    await established(database, known)
    assert await make(first, here) == (201, "")
    await fill(database, quota.table, quota.per_client - 2)
    assert await make(second, beside) == (201, "")
    for wallet in (first, second, await sign_in_wallet(database)):
        assert await make(wallet, beside) == (409, "quota_reached")
    assert await make(first, elsewhere) == (201, "")
    assert await make(known, here) == (201, "")
    async with database.connection() as db:
        clients = await db.fetchval(
            f"SELECT array_agg(client) FROM {quota.table} WHERE owner = $1", known.owner
        )
    assert clients == [None], "nothing is kept of where an established caller asked from"


@pytest.mark.usefixtures("one_minute")
async def test_owner_change_limit_allows_revocations(
    service: AsgiClient, database: Database
) -> None:
    wallet, other = await sign_in_wallet(database), await sign_in_wallet(database)
    await established(database, wallet)
    kept = await create_key(service, wallet.headers)
    secret = {"name": "first", "value": "some value"}
    made = await send_request(service, "POST", SECRETS, wallet.headers, secret)
    path = f"{SECRETS}/{made.json()['id']}/rotate"
    answers = [
        await send_request(service, "POST", path, wallet.headers, {"value": "another"})
        for _ in range(35)
    ]
    assert [answer.status for answer in answers] == [200] * 28 + [429] * 7
    assert int(answers[-1].headers["retry-after"]) >= 1
    for path in (KEYS, f"{KEYS}/{kept['id']}/rotate", SECRETS):
        value = {} if path.endswith("rotate") else {"name": "more", "value": "v"}
        value = {"name": "more"} if path == KEYS else value
        assert (await send_request(service, "POST", path, wallet.headers, value)).status == 429
    assert (
        await send_request(service, "DELETE", f"{KEYS}/{kept['id']}", wallet.headers)
    ).status == 200
    path = f"{SECRETS}/{made.json()['id']}"
    assert (await send_request(service, "DELETE", path, wallet.headers)).status == 204
    assert (await send_request(service, "GET", KEYS, wallet.headers)).status == 200
    await create_key(service, other.headers)
    logout = await send_request(service, "POST", "/v1/auth/logout", wallet.headers, {})
    assert logout.status == 200
    async with database.connection() as db:
        events = await db.fetchval(
            "SELECT count(*) FROM audit_trail WHERE owner = $1", wallet.owner
        )
    assert events == 33  # 30 changes, two that ended something, and the logout


@pytest.mark.usefixtures("one_minute")
async def test_requests_count_by_address_for_unfunded_and_by_key_for_established_accounts(
    postgres_url: Secret[str], database: Database
) -> None:
    free, known = await sign_in_wallet(database), await sign_in_wallet(database)
    await established(database, known)
    limits = {"FAREBOX_RATE_VERIFY_PER_ADDRESS": "3", "FAREBOX_RATE_VERIFY_PER_KEY": "5"}
    async with replica(postgres_url, PROXIED | limits) as client:

        async def verify(key: str, place: dict[str, str]) -> int:
            shown = {"authorization": f"Bearer {key}"} | place
            return (await client.request("POST", "/verify", body=b"{}", headers=shown)).status

        scopes = {"scopes": ["facilitator"]}
        frees = [(await create_key(client, free.headers, **scopes))["key"] for _ in range(6)]
        knowns = [(await create_key(client, known.headers, **scopes))["key"] for _ in range(2)]
        assert [await verify(each, HERE) for each in frees] == [200] * 3 + [429] * 3
        assert [await verify(knowns[0], HERE) for _ in range(6)] == [200] * 5 + [429]
        assert await verify(knowns[1], HERE) == 200
        assert await verify(frees[0], ELSEWHERE) == 200
        assert (await send_request(client, "GET", KEYS, free.headers | HERE)).status == 200, (
            "another class"
        )


@pytest.mark.usefixtures("one_minute")
async def test_request_without_scope_is_counted(
    postgres_url: Secret[str], database: Database
) -> None:
    known = await sign_in_wallet(database)
    await established(database, known)
    async with replica(postgres_url, {"FAREBOX_RATE_VERIFY_PER_KEY": "3"}) as client:
        key = (await create_key(client, known.headers, scopes=["read"]))["key"]
        shown = {"authorization": f"Bearer {key}"}
        statuses = [
            (await client.request("POST", "/verify", body=b"{}", headers=shown)).status
            for _ in range(5)
        ]
    assert statuses == [403] * 3 + [429] * 2
