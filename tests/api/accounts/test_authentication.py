"""Who a request is from, on two replicas, whatever way that is shown."""

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
    ask,
    bearer,
    made_key,
    replica,
    signed_in,
)
from support.promises import promise

KEYS = "/v1/api-keys"
Replicas = tuple[AsgiClient, AsgiClient]


async def status(client: AsgiClient, headers: dict[str, str]) -> int:
    """200 for a session or the operator, 403 for a key, 401 for nobody."""
    return (await ask(client, "GET", KEYS, headers)).status


async def test_nobody_is_let_in_without_a_credential(client: AsgiClient) -> None:
    answer = await ask(client, "GET", KEYS, {})
    assert answer.status == 401
    assert answer.json()["error"] == {
        "code": "unauthenticated",
        "message": "Show a session or a key: Authorization: Bearer …",
        "requestId": answer.headers["x-request-id"],
    }


async def test_a_wrong_credential_is_answered_as_none_is(
    client: AsgiClient, wallet: Wallet
) -> None:
    wrong = wallet.token[:-1] + ("0" if wallet.token[-1] != "0" else "1")
    told = set()
    for headers in ({}, bearer(wrong), bearer("fbx_live_" + "0" * 32), bearer("x" * 40)):
        answer = await ask(client, "GET", KEYS, headers)
        error = answer.json()["error"]
        told.add((answer.status, error["code"], error["message"]))
    assert len(told) == 1


async def test_a_session_is_over_when_the_database_says_so(
    replicas: Replicas, wallet: Wallet, database: Database
) -> None:
    brief = await signed_in(database, life=timedelta(seconds=1))
    assert [await status(each, brief.headers) for each in replicas] == [200, 200]
    async with database.connection() as db:
        await db.execute(
            "UPDATE sessions SET expires_at = clock_timestamp() WHERE id = $1",
            brief.caller.session_id,
        )
    assert [await status(each, brief.headers) for each in replicas] == [401, 401]
    assert [await status(each, wallet.headers) for each in replicas] == [200, 200]


async def test_a_session_that_was_ended_is_refused_by_the_next_request_everywhere(
    replicas: Replicas, wallet: Wallet, database: Database
) -> None:
    assert [await status(each, wallet.headers) for each in replicas] == [200, 200]
    async with database.connection() as db:
        await db.execute("UPDATE sessions SET revoked_at = clock_timestamp()")
    assert [await status(each, wallet.headers) for each in replicas] == [401, 401]


async def test_a_revoked_key_is_refused_by_the_next_request_everywhere(
    replicas: Replicas, wallet: Wallet
) -> None:
    made = await made_key(replicas[0], wallet.headers)
    for _ in range(3):
        assert [await status(each, bearer(made["key"])) for each in replicas] == [403, 403]
    await ask(replicas[0], "DELETE", f"{KEYS}/{made['id']}", wallet.headers)
    assert [await status(each, bearer(made["key"])) for each in replicas] == [401, 401]


async def test_a_key_is_over_when_the_database_says_so(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await made_key(client, wallet.headers, expiresInSeconds=60)
    assert await status(client, bearer(made["key"])) == 403
    async with database.connection() as db:
        await db.execute("UPDATE api_keys SET expires_at = clock_timestamp()")
    assert await status(client, bearer(made["key"])) == 401


@promise("account:stable-user-id")
async def test_session_and_key_of_a_wallet_are_one_user_and_networks_are_apart(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await made_key(client, wallet.headers)
    address = wallet.caller.address
    again = await signed_in(database, address=address)
    elsewhere = await signed_in(database, address=address, network=Network.PUBNET)
    stranger = await signed_in(database)

    async def seen_by(other: Wallet) -> list[str]:
        answer = await ask(client, "GET", KEYS, other.headers)
        return [key["id"] for key in answer.json()["items"]]

    assert await seen_by(again) == [made["id"]]
    assert await seen_by(elsewhere) == await seen_by(stranger) == []
    rotated = await ask(client, "POST", f"{KEYS}/{made['id']}/rotate", bearer(made["key"]))
    assert await seen_by(wallet) == [rotated.json()["id"], made["id"]]


async def test_a_browser_changes_something_only_from_our_own_page(
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
        answer = await ask(client, "POST", path, cookie | proof, body)
        assert (answer.status, answer.json()["error"]["code"]) == (403, "cross_site_request")
    answer = await ask(client, "POST", path, wallet.browser_headers, body)
    assert answer.status == 201


async def test_a_token_in_the_query_or_the_body_shows_nothing(
    client: AsgiClient, wallet: Wallet
) -> None:
    for name in ("access_token", "token", "api_key", "key"):
        answer = await client.get(f"{KEYS}?{name}={wallet.token}")
        assert answer.status == 401
        body = {"name": "robot", name: wallet.token}
        assert (await ask(client, "POST", KEYS, {}, body)).status == 401


@promise("operator-key:never-a-users")
async def test_the_operators_key_is_shown_and_made_for_nobody(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    for headers in (wallet.headers, bearer(OPERATOR_KEY)):
        await made_key(client, headers)
        assert OPERATOR_KEY.encode() not in (await ask(client, "GET", KEYS, headers)).body
    async with database.connection() as db:
        assert await db.fetchval("SELECT count(*) FROM users") == 1


async def test_without_operator_keys_nobody_is_the_operator(postgres_url: Secret[str]) -> None:
    async with replica(postgres_url, {"FAREBOX_OPERATOR_KEYS": ""}) as client:
        for key in (OPERATOR_KEY, "", " ", "None"):
            assert await status(client, {"authorization": f"Bearer {key}"}) == 401
            assert await status(client, {"x-api-key": key}) == 401


async def test_a_key_says_when_it_was_last_used_once_that_is_written(
    postgres_url: Secret[str], database: Database
) -> None:
    wallet = await signed_in(database)
    async with replica(postgres_url) as client:
        made = await made_key(client, wallet.headers)
        assert await status(client, bearer(made["key"])) == 403
        assert await status(client, bearer("fbx_live_" + "0" * 32)) == 401
    async with database.connection() as db:
        used_at = await db.fetchval("SELECT last_used_at FROM api_keys")
    assert used_at is not None


async def test_without_its_database_the_service_knows_nobody_but_the_operator(
    postgres_url: Secret[str],
) -> None:
    away = Secret("postgresql://farebox@127.0.0.1:9/none?sslmode=disable")
    del postgres_url
    async with replica(away) as client:
        for token in ("fbx_live_" + "0" * 32, "fbx_sess_" + "0" * 32):
            answer = await ask(client, "GET", KEYS, bearer(token))
            assert (answer.status, answer.json()["error"]["code"]) == (503, "service_unavailable")
        assert await status(client, bearer("x" * 40)) == 401


async def test_a_key_is_written_to_no_log(
    postgres_url: Secret[str], database: Database, log_text: Callable[[], str]
) -> None:
    wallet = await signed_in(database)
    async with replica(postgres_url) as client:
        made = await made_key(client, wallet.headers)
        keys = [made["key"]]
        for headers in (wallet.headers, bearer(keys[0]), {"x-api-key": keys[0]}):
            await ask(client, "GET", KEYS, headers)
            await client.request("GET", f"{KEYS}?key={keys[0]}", headers=headers)
        answer = await ask(client, "POST", f"{KEYS}/{made['id']}/rotate", bearer(keys[0]))
        keys.append(answer.json()["key"])
        await ask(client, "POST", f"{KEYS}/{keys[1]}/rotate", wallet.headers)
        name = new_id("name")
        await ask(client, "POST", KEYS, bearer(OPERATOR_KEY), {"name": name})
        await asyncio.sleep(0)
    text = log_text()
    assert '"caller_kind":"key"' in text
    for secret in (*keys, wallet.token, OPERATOR_KEY, name):
        assert secret not in text
        assert secret[13:] not in text


async def test_what_is_made_is_not_shown_by_its_text(database: Database) -> None:
    wallet = await signed_in(database)
    terms = KeyTerms(new_id("name"), frozenset(), None)
    issued = await KeyManagement(database).create(wallet.caller, terms, request_id="1")
    body = issued_key_body(issued)
    assert body.key == issued.shown.reveal()
    assert body.key not in f"{issued!r} {issued} {body!r} {body}"


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_no_foreign_origin_is_told_that_it_may_read(
    client: AsgiClient, wallet: Wallet, method: str
) -> None:
    for origin in ("https://evil.example", "null", ORIGIN, f"{ORIGIN}.evil.example"):
        answer = await ask(client, method, KEYS, wallet.headers | {"origin": origin})
        assert not [name for name in answer.headers if name.startswith("access-control-")]
