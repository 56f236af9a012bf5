"""The vault over HTTP: secrets, lists and credentials."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from farebox.kernel.ids import new_id
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from farebox.vault.stored_secret import Purpose
from support.asgi import AsgiClient
from support.callers import OPERATOR_KEY, Wallet, bearer, create_key, replica, sign_in_wallet
from support.planted_secrets import find_planted
from support.promises import promise
from support.vault import (
    SECRETS,
    VAULT_SETTING,
    create_secret,
    random_value,
    send_without_leak,
    vault_replica,
)


@pytest.fixture(scope="module")
async def shared_client(postgres_url: Secret[str]) -> AsyncIterator[AsgiClient]:
    """A replica with master keys, on whatever rows exist."""
    async with replica(postgres_url, VAULT_SETTING) as running:
        yield running


async def listed(client: AsgiClient, wallet: Wallet, query: str = "") -> Any:
    answer = await send_without_leak(client, "GET", SECRETS + query, wallet.headers)
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.fixture
async def logging_client(
    log_text: Callable[[], str], database: Database, postgres_url: Secret[str]
) -> AsyncIterator[AsgiClient]:
    """A replica that logs to `log_text`: a service logs to where it started to."""
    del log_text, database
    async with replica(postgres_url, VAULT_SETTING) as running:
        yield running


@promise("vault:list-without-values", "vault:stored-by-its-owner")
async def test_secret_value_is_never_returned(
    log_text: Callable[[], str], logging_client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    client = logging_client
    value, rotated = random_value(), random_value()
    made = await create_secret(client, wallet.headers, name="  Weather key ", value=value.reveal())
    assert set(made) == {"id", "name", "purpose", "createdAt", "updatedAt"}
    assert (made["name"], made["purpose"]) == ("Weather key", "header")
    assert (await listed(client, wallet))["items"] == [made]
    path = f"{SECRETS}/{made['id']}"
    answer = await send_without_leak(
        client, "POST", f"{path}/rotate", wallet.headers, {"value": rotated.reveal()}
    )
    assert answer.status == 200
    assert answer.json() | {"updatedAt": made["updatedAt"]} == made
    assert answer.json()["updatedAt"] > made["updatedAt"]
    reader = vault_replica(database).reader
    opened = await reader.read(wallet.owner, made["id"], purposes=[Purpose.HEADER])
    assert opened.reveal() == rotated.reveal()
    assert (await send_without_leak(client, "GET", path, wallet.headers)).status == 405
    assert (await send_without_leak(client, "DELETE", path, wallet.headers)).status == 204
    assert (await listed(client, wallet))["items"] == []
    for method, at, body in (
        ("DELETE", path, None),
        ("POST", f"{path}/rotate", {"value": random_value().reveal()}),
    ):
        assert (await send_without_leak(client, method, at, wallet.headers, body)).status == 404
    assert made["id"] in log_text()
    assert find_planted(log_text()) == []


async def test_secret_of_another_owner_is_answered_like_unknown_one(
    client: AsgiClient, wallet: Wallet, database: Database
) -> None:
    made = await create_secret(client, (await sign_in_wallet(database)).headers)
    new = {"value": random_value().reveal()}
    answers = [
        await send_without_leak(
            client, method, f"{SECRETS}/{secret_id}{behind}", wallet.headers, body
        )
        for method, behind, body in (("DELETE", "", None), ("POST", "/rotate", new))
        for secret_id in (made["id"], new_id("sec"), "sec_1", "%00", "sec_" + "9" * 4000)
    ]
    assert {answer.status for answer in answers} == {404}
    bodies = [answer.json()["error"] for answer in answers]
    assert {(body["code"], body["message"]) for body in bodies} == {
        ("not_found", "There is nothing at this path.")
    }
    assert (await listed(client, wallet))["items"] == []


async def test_secrets_need_wrappers_scope_session_or_operator(
    client: AsgiClient, wallet: Wallet
) -> None:
    body = {"name": "A name", "value": random_value().reveal()}
    refused = [({}, 401), (bearer("fbx_sess_" + "a" * 32), 401)]
    for scopes in (["read"], ["facilitator", "automation"]):
        key = await create_key(client, wallet.headers, scopes=scopes)
        refused.append((bearer(key["key"]), 403))
    for headers, status in refused:
        for method, path, sent in (("GET", SECRETS, None), ("POST", SECRETS, body)):
            assert (await send_without_leak(client, method, path, headers, sent)).status == status
    key = await create_key(client, wallet.headers, scopes=["wrappers"])
    own = await create_secret(client, bearer(key["key"]))
    await create_secret(client, bearer(OPERATOR_KEY))
    assert [each["id"] for each in (await listed(client, wallet))["items"]] == [own["id"]]


INVALID: list[tuple[object, str, str]] = [
    ({}, "invalid_request", "name"),
    ({"name": "Name"}, "invalid_request", "value"),
    ({"value": "VALUE"}, "invalid_request", "name"),
    ({"name": "Name", "value": ""}, "invalid_request", "value"),
    ({"name": "Name", "value": None}, "invalid_request", "value"),
    ({"name": "Name", "value": ["VALUE"]}, "invalid_request", "value"),
    ({"name": "Name", "value": "VALUE", "owner": "user_1"}, "invalid_request", ""),
    ({"name": "Name", "value": "VALUE", "purpose": "cookie"}, "invalid_request", "purpose"),
    ({"name": "Name", "value": "VALUE" * 4000}, "invalid_request", "value"),
    ({"name": "N", "value": "VALUE"}, "invalid_name", "name"),
    ({"name": "key VALUE-1234", "value": "VALUE-1234"}, "invalid_name", "name"),
    ({"name": "N\0ame", "value": "VALUE"}, "invalid_name", "name"),
    ({"name": "Name", "value": "VALUE\r\nX-Admin: 1"}, "value_not_for_header", "value"),
    (
        {"name": "Name", "value": "two words", "purpose": "bearer"},
        "value_not_for_header",
        "value",
    ),
    ([], "invalid_request", ""),
    (b"", "invalid_request", "name"),
    (b'{"name": "Name", "value": "\xff\xfe VALUE"}', "invalid_request", ""),
    (b'{"name": "Name", "value": "\\ud800 VALUE"}', "invalid_request", ""),
    (b'{"name": "Name", "value": "VALUE"', "invalid_request", ""),
]


async def test_invalid_secret_is_refused_without_its_value(
    client: AsgiClient, wallet: Wallet
) -> None:
    for asked, code, member in INVALID:
        answer = await client.post(SECRETS, asked, wallet.headers)
        error = answer.json()["error"]
        assert (answer.status, error["code"]) == (400, code), asked
        assert error.get("details", {}).get("field", "") == member, asked
        assert b"VALUE" not in answer.body, asked
    assert (await listed(client, wallet))["items"] == []


async def test_secret_name_is_unique_until_deletion(client: AsgiClient, wallet: Wallet) -> None:
    made = await create_secret(client, wallet.headers, name="Weather")
    body = {"name": " Weather", "value": random_value().reveal()}
    answer = await send_without_leak(client, "POST", SECRETS, wallet.headers, body)
    assert (answer.status, answer.json()["error"]["code"]) == (409, "name_taken")
    await send_without_leak(client, "DELETE", f"{SECRETS}/{made['id']}", wallet.headers)
    await create_secret(client, wallet.headers, name="Weather")


async def test_secrets_are_listed_newest_first(client: AsgiClient, wallet: Wallet) -> None:
    made = [(await create_secret(client, wallet.headers))["id"] for _ in range(5)]
    walked: list[str] = []
    query = "?limit=2"
    while query:
        page = await listed(client, wallet, query)
        assert page["pagination"]["limit"] == 2
        walked += [each["id"] for each in page["items"]]
        cursor = page["pagination"]["nextCursor"]
        query = f"?limit=2&cursor={cursor}" if cursor else ""
    assert walked == made[::-1]


async def test_vault_is_unavailable_without_master_keys_and_other_routes_work(
    database: Database, postgres_url: Secret[str], wallet: Wallet
) -> None:
    async with replica(postgres_url) as client:
        for method, path in (
            ("GET", SECRETS),
            ("POST", SECRETS),
            ("DELETE", f"{SECRETS}/{new_id('sec')}"),
            ("POST", f"{SECRETS}/{new_id('sec')}/rotate"),
        ):
            answer = await send_without_leak(client, method, path, wallet.headers)
            assert (answer.status, answer.json()["error"]["code"]) == (503, "vault_unavailable")
            assert answer.headers["retry-after"] == "60"
            assert (await send_without_leak(client, method, path, {})).status == 401
        assert (await send_without_leak(client, "GET", "/v1/audit", wallet.headers)).status == 200
        assert (
            await send_without_leak(client, "GET", "/v1/api-keys", wallet.headers)
        ).status == 200
