"""Authentication of requests by session, API key and operator key, on two replicas."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from farebox.accounts.api_key import KeyTerms
from farebox.accounts.keys_wire import issued_key_body
from farebox.accounts.manage_keys import KeyManagement
from farebox.kernel.ids import new_id
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import (
    OPERATOR_KEY,
    ORIGIN,
    Wallet,
    bearer,
    create_key,
    replica,
    send_request,
    sign_in_wallet,
)
from support.promises import promise
from support.unlimited import Unlimited

KEYS = "/v1/api-keys"
Replicas = tuple[AsgiClient, AsgiClient]


async def status(client: AsgiClient, headers: dict[str, str]) -> int:
    """200 for a session or the operator, 403 for a key, 401 without a credential."""
    return (await send_request(client, "GET", KEYS, headers)).status


async def test_request_without_credential_is_refused(client: AsgiClient) -> None:
    answer = await send_request(client, "GET", KEYS, {})
    assert answer.status == 401
    assert answer.json()["error"] == {
        "code": "unauthenticated",
        "message": "Show a session or a key: Authorization: Bearer …",
        "requestId": answer.headers["x-request-id"],
    }


async def test_wrong_credential_is_answered_like_missing_one(
    client: AsgiClient, wallet: Wallet
) -> None:
    wrong = wallet.token[:-1] + ("0" if wallet.token[-1] != "0" else "1")
    errors = set()
    for headers in ({}, bearer(wrong), bearer("fbx_live_" + "0" * 32), bearer("x" * 40)):
        answer = await send_request(client, "GET", KEYS, headers)
        error = answer.json()["error"]
        errors.add((answer.status, error["code"], error["message"]))
    assert len(errors) == 1


async def test_session_expires_by_database_clock(
    replicas: Replicas, wallet: Wallet, database: Database
) -> None:
    brief = await sign_in_wallet(database, life=timedelta(seconds=1))
    assert [await status(each, brief.headers) for each in replicas] == [200, 200]
    async with database.connection() as db:
        await db.execute(
            "UPDATE sessions SET expires_at = clock_timestamp() WHERE id = $1",
            brief.caller.session_id,
        )
    assert [await status(each, brief.headers) for each in replicas] == [401, 401]
    assert [await status(each, wallet.headers) for each in replicas] == [200, 200]


async def test_ended_session_is_refused_at_once_by_every_replica(
    replicas: Replicas, wallet: Wallet, database: Database
) -> None:
    assert [await status(each, wallet.headers) for each in replicas] == [200, 200]
    async with database.connection() as db:
        await db.execute("UPDATE sessions SET revoked_at = clock_timestamp()")
    assert [await status(each, wallet.headers) for each in replicas] == [401, 401]


async def test_revoked_key_is_refused_at_once_by_every_replica(
    replicas: Replicas, wallet: Wallet
) -> None:
    made = await create_key(replicas[0], wallet.headers)
    for _ in range(3):
        assert [await status(each, bearer(made["key"])) for each in replicas] == [403, 403]
    await send_request(replicas[0], "DELETE", f"{KEYS}/{made['id']}", wallet.headers)
    assert [await status(each, bearer(made["key"])) for each in replicas] == [401, 401]


async def test_key_expires_by_database_clock(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await create_key(client, wallet.headers, expiresInSeconds=60)
    assert await status(client, bearer(made["key"])) == 403
    async with database.connection() as db:
        await db.execute("UPDATE api_keys SET expires_at = clock_timestamp()")
    assert await status(client, bearer(made["key"])) == 401


@promise("account:stable-user-id")
async def test_session_and_key_share_a_user_per_network(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await create_key(client, wallet.headers)
    address = wallet.caller.address
    again = await sign_in_wallet(database, address=address)
    elsewhere = await sign_in_wallet(database, address=address, network=Network.PUBNET)
    stranger = await sign_in_wallet(database)

    async def seen_by(other: Wallet) -> list[str]:
        answer = await send_request(client, "GET", KEYS, other.headers)
        return [key["id"] for key in answer.json()["items"]]

    assert await seen_by(again) == [made["id"]]
    assert await seen_by(elsewhere) == await seen_by(stranger) == []
    rotated = await send_request(client, "POST", f"{KEYS}/{made['id']}/rotate", bearer(made["key"]))
    assert await seen_by(wallet) == [rotated.json()["id"], made["id"]]


async def test_change_is_refused_for_another_account_than_the_page_shows(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    """Two tabs share one cookie: what the buyer's tab makes is never the seller's."""
    seller = await sign_in_wallet(database)
    body = {"name": "robot"}
    named = {"x-farebox-account": wallet.owner}
    for method, path in (("POST", KEYS), ("GET", KEYS), ("POST", "/v1/auth/logout")):
        answer = await send_request(client, method, path, seller.browser_headers | named, body)
        error = answer.json()["error"]
        assert (answer.status, error["code"]) == (409, "account_mismatch"), path
    for other in ("", "user_", f"{seller.owner},{wallet.owner}", seller.owner.upper()):
        headers = seller.browser_headers | {"x-farebox-account": other}
        assert (await send_request(client, "POST", KEYS, headers, body)).status == 409, other
    made = (await send_request(client, "GET", KEYS, seller.headers)).json()["items"]
    assert made == [], "and still signed in"
    own = seller.browser_headers | {"x-farebox-account": seller.owner}
    assert (await send_request(client, "POST", KEYS, own, body)).status == 201
    answer = await send_request(client, "POST", KEYS, seller.browser_headers, {"name": "second"})
    assert answer.status == 201, "without the header as before"
    answer = await send_request(client, "POST", KEYS, seller.headers | named, {"name": "third"})
    assert answer.status == 201, "a token names its account itself"


async def test_cookie_session_changes_need_same_origin_and_csrf_header(
    client: AsgiClient, wallet: Wallet
) -> None:
    cookie = {"cookie": f"__Host-fbx_sess={wallet.token}"}
    assert await status(client, cookie) == 200
    path, body = KEYS, {"name": "robot"}
    for proof in (
        {},
        {"origin": ORIGIN},
        {"x-farebox-csrf": "1"},
        {"origin": "https://evil.example", "x-farebox-csrf": "1"},
        {"origin": "null", "x-farebox-csrf": "1"},
    ):
        answer = await send_request(client, "POST", path, cookie | proof, body)
        assert (answer.status, answer.json()["error"]["code"]) == (403, "cross_site_request")
    answer = await send_request(client, "POST", path, wallet.browser_headers, body)
    assert answer.status == 201


async def test_token_in_query_or_body_is_no_credential(client: AsgiClient, wallet: Wallet) -> None:
    for name in ("access_token", "token", "api_key", "key"):
        answer = await client.get(f"{KEYS}?{name}={wallet.token}")
        assert answer.status == 401
        body = {"name": "robot", name: wallet.token}
        assert (await send_request(client, "POST", KEYS, {}, body)).status == 401


@promise("operator-key:never-a-users")
async def test_operator_key_is_not_listed_or_created(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    for headers in (wallet.headers, bearer(OPERATOR_KEY)):
        await create_key(client, headers)
        assert OPERATOR_KEY.encode() not in (await send_request(client, "GET", KEYS, headers)).body
    async with database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM users") == 1


async def test_operator_access_is_refused_without_operator_keys(postgres_url: Secret[str]) -> None:
    async with replica(postgres_url, {"FAREBOX_OPERATOR_KEYS": ""}) as client:
        for key in (OPERATOR_KEY, "", " ", "None"):
            assert await status(client, {"authorization": f"Bearer {key}"}) == 401
            assert await status(client, {"x-api-key": key}) == 401


async def test_key_shows_last_use_once_written(
    postgres_url: Secret[str], database: Database
) -> None:
    wallet = await sign_in_wallet(database)
    async with replica(postgres_url) as client:
        made = await create_key(client, wallet.headers)
        assert await status(client, bearer(made["key"])) == 403
        assert await status(client, bearer("fbx_live_" + "0" * 32)) == 401
    async with database.connection() as db:
        used_at = await db.fetchval("SELECT last_used_at FROM api_keys")
    assert used_at is not None


async def test_only_operator_is_authenticated_without_database(
    postgres_url: Secret[str],
) -> None:
    away = Secret("postgresql://farebox@127.0.0.1:9/none?sslmode=disable")
    del postgres_url
    async with replica(away) as client:
        for token in ("fbx_live_" + "0" * 32, "fbx_sess_" + "0" * 32):
            answer = await send_request(client, "GET", KEYS, bearer(token))
            assert (answer.status, answer.json()["error"]["code"]) == (503, "service_unavailable")
        assert await status(client, bearer("x" * 40)) == 401


async def test_log_holds_no_key(
    postgres_url: Secret[str], database: Database, log_text: Callable[[], str]
) -> None:
    wallet = await sign_in_wallet(database)
    async with replica(postgres_url) as client:
        made = await create_key(client, wallet.headers)
        keys = [made["key"]]
        for headers in (wallet.headers, bearer(keys[0]), {"x-api-key": keys[0]}):
            await send_request(client, "GET", KEYS, headers)
            await client.request("GET", f"{KEYS}?key={keys[0]}", headers=headers)
        answer = await send_request(client, "POST", f"{KEYS}/{made['id']}/rotate", bearer(keys[0]))
        keys.append(answer.json()["key"])
        await send_request(client, "POST", f"{KEYS}/{keys[1]}/rotate", wallet.headers)
        name = new_id("name")
        await send_request(client, "POST", KEYS, bearer(OPERATOR_KEY), {"name": name})
        await asyncio.sleep(0)
    text = log_text()
    assert '"caller_kind":"key"' in text
    for secret in (*keys, wallet.token, OPERATOR_KEY, name):
        assert secret not in text
        assert secret[13:] not in text


async def test_created_key_text_is_masked(database: Database) -> None:
    wallet = await sign_in_wallet(database)
    terms = KeyTerms(new_id("name"), frozenset(), None)
    issued = await KeyManagement(database, Unlimited()).create(wallet.caller, terms, request_id="1")
    body = issued_key_body(issued)
    assert body.key == issued.value.reveal()
    assert body.key not in f"{issued!r} {issued} {body!r} {body}"


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_foreign_origin_gets_no_cors_header(
    client: AsgiClient, wallet: Wallet, method: str
) -> None:
    for origin in ("https://evil.example", "null", ORIGIN, f"{ORIGIN}.evil.example"):
        answer = await send_request(client, method, KEYS, wallet.headers | {"origin": origin})
        assert not [name for name in answer.headers if name.startswith("access-control-")]
